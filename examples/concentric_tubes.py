"""A concentric-tube robot: three pre-curved tubes inside each other, pushed and rotated at their bases.

Overlapping tubes share one curvature, the mean of their own ones weighted by stiffness. Rotated relative to each other
they straighten, and twist by an angle that grows towards the tip. An extended tube shows its own curvature.
"""

import numpy as np

import pliant as pl

NITINOL = {"young": 60e9, "poisson": 0.3, "density": 6500}
TUBES = {  # outer and inner radius (m), rest curvature (1/m), base (m), straight and bent length (m)
    "outer": (1.6e-3, 1.3e-3, 4.0, 0.0, 0.0, 0.05),
    "middle": (1.2e-3, 1.0e-3, 8.0, -0.04, 0.04, 0.06),
    "inner": (0.9e-3, 0.0, 14.0, -0.08, 0.08, 0.07),
}
PIECE = 0.005  # m, length of the sections

scene, rods, bases = pl.Scene(), {}, {}
for name, (radius, bore, curvature, start, straight, bent) in TUBES.items():
    rest = np.zeros((round((straight + bent) / PIECE), 6))
    rest[round(straight / PIECE) :, 2] = curvature
    section = pl.sections.Tube(radius, bore) if bore else pl.sections.Circle(radius)
    tube = pl.Rod(
        straight + bent, len(rest), section=section, rest_strain=rest, start_strain=np.zeros(6), position=(start, 0, 0),
        name=name, **NITINOL,
    )  # fmt: skip
    rods[name] = scene.add(tube)
    bases[name] = scene.add(pl.Support(tube, [0], rotation=(0, 0, 0)))
for outside, inside in (("outer", "middle"), ("middle", "inner")):
    count = rods[outside].sections
    scene.add(pl.Sheath(rods[outside], rods[inside], places=np.linspace(0.0, count * PIECE, count + 1)))
world = scene.compile()

stiffness = {name: NITINOL["young"] * rod.section.second_moments[0] for name, rod in rods.items()}
bent = {name: values[2] for name, values in TUBES.items()}


def agreed(*names, signs=(1, 1, 1)):
    """Curvature of tubes that overlap, 1/m: the mean of their own ones, weighted by their stiffness."""
    pairs = list(zip(names, signs, strict=False))
    return sum(s * stiffness[n] * bent[n] for n, s in pairs) / sum(stiffness[n] for n, _ in pairs)


def moved(state, *, push, turn):
    """Statics, in ten steps, to where each base is pushed (m) and turned (rad) to."""
    for part in np.linspace(0.1, 1.0, 10):
        controls = {
            bases[name]: pl.Placement([(part * push.get(name, 0.0), 0, 0), (part * turn.get(name, 0.0), 0, 0)])
            for name in rods
        }
        state, _ = pl.QuasiStatic()(world, state, controls)
    return state


def curvature(state, name, place):
    """Curvature of a tube `place` metres before its tip, 1/m."""
    return np.linalg.norm(state.strains(rods[name])[-1 - round(place / PIECE), 1:3])


rest, _ = pl.QuasiStatic()(world, world.initial_state())
out = moved(rest, push={"middle": 0.02, "inner": 0.04}, turn={})
against = moved(rest, push={}, turn={"inner": np.pi})
side = moved(rest, push={"middle": 0.02, "inner": 0.04}, turn={"inner": np.pi / 2})

tip = {name: 1e3 * s.points(rods["inner"])[-1] for name, s in (("in", rest), ("out", out), ("side", side))}
print("tip drawn in, pushed out, and turned by 90° (mm):", *(np.round(x, 1) for x in tip.values()))
print(
    f"all three overlap: {curvature(rest, 'outer', 0.02):.3f} 1/m, the mean is {agreed('outer', 'middle', 'inner'):.3f}"
)
print(f"middle and inner: {curvature(out, 'middle', 0.01):.3f} 1/m, the mean is {agreed('middle', 'inner'):.3f}")
print(f"inner alone: {curvature(out, 'inner', 0.01):.3f} 1/m, its own is {bent['inner']:.3f}")
twist = [state.strains(rods["inner"])[:, 0].sum() * PIECE for state in (out, side)]
print(f"turned by 90° at its base, the inner tip lags behind by {-np.degrees(twist[1]):.1f}°")

three = agreed("outer", "middle", "inner")
assert abs(curvature(rest, "outer", 0.02) - three) < 1e-3 * three, "three tubes agree on the mean curvature"
assert abs(curvature(out, "middle", 0.01) - agreed("middle", "inner")) < 1e-2 * three, "two tubes outside the third"
assert abs(curvature(out, "inner", 0.01) - bent["inner"]) < 1e-3 * bent["inner"], "outside it has its own curvature"
opposed = agreed("outer", "middle", "inner", signs=(1, 1, -1))
assert abs(curvature(against, "outer", 0.02) - abs(opposed)) < 0.02 * three, "against each other they straighten"
assert abs(twist[0]) < 1e-6, "in one plane nothing twists"
assert -1.0 < twist[1] < -0.02, f"turned out of the plane the inner tube twists back, by {twist[1]} rad"
