"""URDF files: places of links against hand-made kinematics, shapes, meshes, and clear words about broken files."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant as pl
from pliant.models.rigid.urdf import Urdf

ARM = """<robot name="arm">
  <link name="base"><collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
  <link name="upper"><collision name="bone"><origin xyz="0 0 0.25"/>
    <geometry><cylinder radius="0.03" length="0.5"/></geometry></collision></link>
  <link name="lower"><collision><origin xyz="0 0 0.2" rpy="0 1.5707963267948966 0"/>
    <geometry><box size="0.4 0.05 0.05"/></geometry></collision>
    <collision><origin xyz="0 0 0.4"/><geometry><sphere radius="0.04"/></geometry></collision></link>
  <link name="finger"><collision><geometry><sphere radius="0.01"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.05"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 0.5"/><axis xyz="0 2 0"/></joint>
  <joint name="slide" type="prismatic"><parent link="lower"/><child link="finger"/>
    <origin xyz="0 0 0.4"/><axis xyz="0 0 1"/><limit lower="0.01" upper="0.1" effort="1" velocity="1"/></joint>
</robot>"""


@pytest.fixture
def arm(tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    return file


def by_name(obstacles):
    return {one.name: one for one in obstacles}


def test_links_stand_where_joints_put_them(arm):
    first, second = 0.3, -0.8
    poses = Urdf.read(arm).poses({"shoulder": first, "elbow": second, "slide": 0.05})
    elbow = np.array([0.5 * np.sin(first), 0.0, 0.05 + 0.5 * np.cos(first)])
    hand = elbow + 0.45 * np.array([np.sin(first + second), 0.0, np.cos(first + second)])
    np.testing.assert_allclose(poses["lower"][:3, 3], elbow, atol=1e-12)
    np.testing.assert_allclose(poses["finger"][:3, 3], hand, atol=1e-12)
    np.testing.assert_allclose(
        poses["finger"][:3, :3], Rotation.from_rotvec((0.0, first + second, 0.0)).as_matrix(), atol=1e-12
    )


def test_shapes_are_placed_with_their_own_origin(arm):
    shapes = by_name(pl.Obstacle.from_urdf(arm, joints={"shoulder": np.pi / 2}, position=(1.0, 0.0, 0.0)))
    assert set(shapes) == {"base", "bone", "lower", "lower 2", "finger"}
    bone, ball, box = shapes["bone"].shape.solid, shapes["lower 2"].shape.solid, shapes["lower"].shape
    np.testing.assert_allclose([bone.start, bone.end], [(1.0, 0.0, 0.05), (1.5, 0.0, 0.05)], atol=1e-12)
    np.testing.assert_allclose(ball.center, (1.9, 0.0, 0.05), atol=1e-12)
    # its length is along its x, turned to −z by its own origin, and to −x by the shoulder
    np.testing.assert_allclose(np.ptp(box.points, axis=0), (0.4, 0.05, 0.05), atol=1e-9)
    np.testing.assert_allclose(shapes["finger"].shape.solid.center, (1.91, 0.0, 0.05), atol=1e-12)


def test_a_soft_body_comes_to_rest_on_the_arm(arm):
    scene = pl.Scene(gravity=(0, 0, -9.81))
    rubber = pl.materials.Corotated(young=1e5, poisson=0.4, density=1000)
    block = scene.add(pl.Volume(pl.mesh.box((0.02,) * 3, (2, 2, 2)), rubber), position=(-0.01, -0.01, 0.052))
    for obstacle in pl.Obstacle.from_urdf(arm):
        scene.add(obstacle)
        if obstacle.name == "base":
            scene.collide(block, obstacle, friction=0.5)
    run = pl.simulate(scene.compile(), pl.ImplicitEuler(dt=0.01), until=0.3)
    weight = 9.81 * 1000 * 0.02**3
    assert run.contact_force(block, "base")[-1, 2] == pytest.approx(weight, rel=0.02)


def test_joints_may_be_functions_of_time(arm):
    moving = by_name(pl.Obstacle.from_urdf(arm, joints=lambda t: {"shoulder": t}))
    still = by_name(pl.Obstacle.from_urdf(arm, joints={"shoulder": 0.7}))
    pose = moving["lower 2"].pose(0.7)
    np.testing.assert_allclose(
        pose[1:] @ moving["lower 2"].shape.solid.center + pose[0], still["lower 2"].shape.solid.center, atol=1e-12
    )


def test_mimicking_joints_follow(tmp_path, arm):
    text = ARM.replace(
        '<axis xyz="0 2 0"/>', '<axis xyz="0 2 0"/><mimic joint="shoulder" multiplier="-2" offset="0.1"/>'
    )
    arm.write_text(text)
    urdf = Urdf.read(arm)
    assert urdf.values({"shoulder": 0.3})["elbow"] == pytest.approx(-0.5)
    with pytest.raises(pl.InputError, match="'elbow' that can be set"):
        urdf.values({"elbow": 0.1})


@pytest.mark.parametrize("address", ["meshes/part.stl", "package://robot/meshes/part.stl"])
def test_meshes_are_found_scaled_and_closed(tmp_path, address):
    folder = tmp_path / "robot" / "urdf"
    folder.mkdir(parents=True)
    place = (folder if "package" not in address else folder.parent) / "meshes"
    place.mkdir()
    box = pl.mesh.box((20.0, 10.0, 10.0), (1, 1, 1))
    pl.mesh.save(box.surface(), place / "part.stl", unit="m")
    geometry = f'<mesh filename="{address}" scale="0.001 0.001 -0.001"/>'
    file = folder / "part.urdf"
    file.write_text(
        f'<robot name="r"><link name="a"><collision><geometry>{geometry}</geometry></collision></link></robot>'
    )
    (part,) = pl.Obstacle.from_urdf(file, position=(0.0, 0.0, 1.0))
    np.testing.assert_allclose(part.shape.points.min(axis=0), (0.0, 0.0, 0.99), atol=1e-9)
    np.testing.assert_allclose(part.shape.points.max(axis=0), (0.02, 0.01, 1.0), atol=1e-9)
    (place / "part.stl").unlink()
    with pytest.raises(pl.MeshError, match="was not found"):
        pl.Obstacle.from_urdf(file)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("<robot", "<sdf", "not well-formed|mismatched"),
        ('<parent link="base"/>', '<parent link="bse"/>', "'bse', which does not exist"),
        ('type="continuous"', 'type="floating"', "'floating' are not known"),
        ('<axis xyz="0 2 0"/>', '<axis xyz="0 0 0"/>', "zero vector"),
        ('size="0.2 0.2 0.1"', 'size="0.2 0.2"', "3 finite numbers"),
        ('radius="0.03"', 'radius="thick"', "are not numbers"),
        ('<sphere radius="0.01"/>', '<torus radius="0.01"/>', "<torus> is not known"),
        ('<child link="finger"/>', '<child link="lower"/>', "one tree"),
        ('<limit lower="0.01" upper="0.1" effort="1" velocity="1"/>', "", "needs a <limit>"),
        ('name="slide" ', "", "no 'name'"),
    ],
)
def test_broken_files_are_told(arm, old, new, said):
    assert old in ARM
    arm.write_text(ARM.replace(old, new, 1))
    with pytest.raises(pl.InputError, match=said):
        pl.Obstacle.from_urdf(arm)


def test_unknown_joints_limits_and_files_are_told(arm, tmp_path):
    with pytest.raises(pl.InputError, match=r"no joint 'knee'.*shoulder, elbow, slide"):
        pl.Obstacle.from_urdf(arm, joints={"knee": 1.0})
    with pytest.raises(pl.InputError, match="limits are -2 to 2 rad"):
        pl.Obstacle.from_urdf(arm, joints={"shoulder": 3.0})
    with pytest.raises(pl.InputError, match=r"limits are 0\.01 to 0\.1 m"):
        pl.Obstacle.from_urdf(arm, joints={"slide": 0.2})
    with pytest.raises(pl.InputError, match="there is no file"):
        pl.Obstacle.from_urdf(tmp_path / "nothing.urdf")
    (tmp_path / "empty.urdf").write_text('<robot name="r"><link name="a"/></robot>')
    with pytest.raises(pl.InputError, match="no collision shapes"):
        pl.Obstacle.from_urdf(tmp_path / "empty.urdf")
