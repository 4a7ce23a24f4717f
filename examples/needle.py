"""A needle is pushed into soft tissue along a curved channel and enters the points of the channel one after another.

The needle is straight, the channel is not. The needle is pressed against the channel, so with friction the insertion
force grows with depth.
"""

import numpy as np

import pliant as pl

DEPTH, TIME, STEP = 0.08, 2.0, 0.01


def channel_points(count: int) -> np.ndarray:
    """Points (count, 3), m, of waves of 1 mm by 60 mm through the block, from its front face on."""
    x = np.linspace(0.004, 0.092, count)
    return np.column_stack([x, np.full(count, 0.015), 0.015 + 0.5e-3 * (1 - np.cos(2 * np.pi * x / 0.06))])


def insert(friction: float) -> tuple[np.ndarray, np.ndarray]:
    """Points that the needle has passed, and the push, N, in every step of an insertion."""
    scene = pl.Scene()
    mesh = pl.mesh.box((0.1, 0.03, 0.03), (10, 3, 3), symmetric="")
    soft = pl.materials.Corotated(young=60e3, poisson=0.4, density=1000)
    damping = pl.Rayleigh(stiffness=0.02)
    tissue = scene.add(pl.Volume(mesh, soft, clamp=pl.regions.plane(axis="z", at=0), damping=damping, name="tissue"))
    needle = scene.add(
        pl.Rod(
            0.1,
            20,
            section=pl.sections.Circle(0.4e-3),
            young=20e9,
            poisson=0.3,
            density=7800,
            position=(-0.1, 0.015, 0.015),  # its tip is at the front face
            damping=damping,
            name="needle",
        )
    )
    hand = scene.add(pl.Support(needle, [0], rotation=(0, 0, 0)))
    scene.add(pl.Channel(tissue, channel_points(16), needle, fixed_end=False, friction=friction))
    world = scene.compile()
    state, passed, push = world.initial_state(), [], []
    for k in range(round(TIME / STEP)):
        way = DEPTH * (k + 1) * STEP / TIME
        state, info = pl.ImplicitEuler(STEP)(world, state, {hand: pl.Displacement((way, 0, 0))})
        rows = 0 if info.assembly is None else len(info.assembly.rows.gap)
        passed.append(rows // (3 if friction else 2))
        push.append(info.reaction(needle)[0, 0])
    return np.array(passed), np.array(push)


passed, smooth = insert(0.0)
_, rough = insert(0.3)
half = slice(len(passed) // 2 - 20, len(passed) // 2)
print(f"the needle passed {passed[-1]} of 16 points, {passed[len(passed) // 2]} of them in the first half")
for name, push in (("without", smooth), ("with", rough)):
    print(
        f"{name} friction: {np.median(push[half]):.3f} N half in, {np.median(push[-20:]):.3f} N at {1e3 * DEPTH:.0f} mm"
    )

assert passed[0] == 0, "the needle must begin outside"
assert set(np.diff(passed)) == {0, 1}, "points must be passed one after another"
assert abs(passed[-1] - (channel_points(16)[:, 0] < DEPTH).sum()) <= 1, f"{passed[-1]} points passed"
assert np.median(rough[-20:]) > 20 * np.median(smooth[-20:]), "friction must take more force"
assert np.median(rough[-20:]) > 1.5 * np.median(rough[half]), "deeper must take more force"
