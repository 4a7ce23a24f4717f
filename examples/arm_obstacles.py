"""A rigid arm from a URDF file pushes a soft post aside: its links are obstacles with prescribed motion."""

from math import pi
from pathlib import Path
from tempfile import TemporaryDirectory

import pliant as pl

ARM = """<robot name="arm">
  <link name="base"><collision><geometry><box size="0.04 0.04 0.02"/></geometry></collision></link>
  <link name="forearm"><collision><origin xyz="0.05 0 0" rpy="0 1.5707963 0"/>
    <geometry><cylinder radius="0.006" length="0.1"/></geometry></collision>
    <collision name="fist"><origin xyz="0.1 0 0"/><geometry><sphere radius="0.012"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="forearm"/>
    <origin xyz="0 0 0.05"/><axis xyz="0 0 1"/><limit lower="-1.6" upper="1.6" effort="1" velocity="1"/></joint>
</robot>"""


def joints(t: float) -> dict[str, float]:
    """The shoulder turns by 30° in half a second, and stays."""
    return {"shoulder": pi / 6 * (min(2.0 * t, 1.0) - 1.0)}


scene = pl.Scene(gravity=(0, 0, -9.81))
mesh = pl.mesh.cylinder(0.01, 0.08, cells=(2, 8))
post = scene.add(
    pl.Volume(
        mesh,
        pl.materials.ecoflex_00_50(),
        clamp=pl.regions.plane(axis="z", at=mesh.bounds[0, 2]),
        damping=pl.Rayleigh(stiffness=0.01),
        name="post",
    ),
    position=(0.1, 0.015, -mesh.bounds[0, 2]),
)
with TemporaryDirectory() as folder:
    file = Path(folder) / "arm.urdf"
    file.write_text(ARM)
    links = {link.name: scene.add(link) for link in pl.Obstacle.from_urdf(file, joints=joints)}
scene.collide(post, links["fist"], friction=0.3)

run = pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.01), until=0.8)
force = run.contact_force(post, links["fist"])[-1]
pushed = 1e3 * (run.points(post)[-1, :, 1] - run.points(post)[0, :, 1]).max()
print(f"the fist pushes the post aside by {pushed:.1f} mm, with {1e3 * force[1]:.0f} mN")

assert list(links) == ["base", "forearm", "fist"]
assert pushed > 5.0, f"the post must give way, it moved by {pushed:.1f} mm"
assert force[1] > 0.0, "the fist pushes along +y"
assert abs(force[2]) < 0.6 * force[1], "and less along z: the post leans away, with friction along it"
