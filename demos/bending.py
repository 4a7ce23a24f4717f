"""Three tentacles of one shape and three silicones on one holder: they sag, then the holder circles, then they settle.

What differs is the silicone alone, so the picture shows what a material does: the stiff one follows the holder, the
soft one lags behind it and whips. The tetrahedra are the default element, with smoothed strains; a step is one Newton
iteration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from demos.outcome import Outcome, stage_table
from pliant import materials, regions
from pliant import mesh as meshes
from pliant.actuators.values import Displacement
from pliant.core.errors import ConvergenceError
from pliant.core.types import FloatArray
from pliant.materials import Silicone
from pliant.mesh import Mesh
from pliant.models.volume import Rayleigh, Support, Volume
from pliant.record import Run, simulate
from pliant.stepping import ImplicitEuler, StepInfo
from pliant.viewer.page import write_page
from pliant.viewer.picture import write_picture
from pliant.viewer.surfaces import SurfaceFrames
from pliant.world import Scene, State, World

SILICONES: tuple[Silicone, ...] = (materials.ecoflex_00_30, materials.dragon_skin_10, materials.dragon_skin_30)
LENGTH, BASE_RADIUS, TIP_RADIUS = 0.15, 0.012, 0.004
"""Shape of a tentacle, m."""
SPACING, HEIGHT = 0.070, 0.16
"""Distance of neighbours and height of the holder, m."""
DURATION, DT = 4.0, 0.01
"""Simulated time and step, s."""
STRESS = "von Mises stress (kPa)"


@dataclass(frozen=True, eq=False)
class Bench:
    """The compiled scene with the handles that the motion needs."""

    world: World
    bodies: tuple[Volume, ...]
    holders: tuple[Support, ...]

    def control(self, t: float, state: State) -> Mapping[Any, Any]:
        """The displacement of every holder at time t (s)."""
        displacement = Displacement(holder_displacement(t))
        return {holder: displacement for holder in self.holders}


def tentacle() -> Mesh:
    """A blunt cone along x, thick end at x = 0, of 648 tetrahedra: a box whose square section is made round."""
    block = meshes.box((LENGTH, 2.0, 2.0), (12, 3, 3)).translated((0.0, -1.0, -1.0))
    x, y, z = block.points.T
    ring = np.maximum(np.abs(y), np.abs(z)) ** 0.7
    flat = np.abs(y) >= np.abs(z)  # the quarters around ±y; z/y is then in [−1, 1] and becomes an angle of ±45°
    slope = np.pi / 4.0 * np.where(flat, z, y) / np.where(flat, y, z)
    along, across = np.sign(np.where(flat, y, z)) * np.cos(slope), np.sign(np.where(flat, y, z)) * np.sin(slope)
    radius = (BASE_RADIUS + (TIP_RADIUS - BASE_RADIUS) * x / LENGTH) * ring
    section = np.where(flat, (along, across), (across, along))
    return Mesh(np.stack([x, *(radius * section)], axis=1), block.cells, block.element)


def build() -> Bench:
    """The scene: tentacles side by side, each clamped at its thick end."""
    scene = Scene(gravity=(0, 0, -9.81))
    shape = tentacle()
    bodies, holders = [], []
    for number, silicone in enumerate(SILICONES):
        body = Volume(shape, silicone(poisson=0.47), name=silicone.name, damping=Rayleigh(stiffness=2e-3))
        bodies.append(scene.add(body, position=(0, SPACING * number, HEIGHT)))
        holders.append(scene.add(Support(body, regions.plane(axis="x", at=0), "xyz", (0, 0, 0))))
    return Bench(scene.compile(), tuple(bodies), tuple(holders))


def holder_displacement(t: float) -> FloatArray:
    """Displacement (3,), m, of the holder at time t (s): still, then circles that grow and fade, then still again."""
    start, stop, rate = 0.9, 3.1, 1.15
    phase = np.clip((t - start) / (stop - start), 0.0, 1.0)
    radius = 0.030 * np.sin(np.pi * phase) ** 2
    angle = 2.0 * np.pi * rate * (t - start)
    return np.array([0.0, radius * np.sin(angle), radius * np.cos(angle)])


def run(out: Path) -> Outcome:
    """Simulate, write the picture, the page and the recorded run into `out`, and check what came out."""
    bench = build()
    stresses = [[state_stress(bench.world.initial_state(), body)] for body in bench.bodies]

    def keep_stress(state: State, info: StepInfo) -> None:
        for history, body in zip(stresses, bench.bodies, strict=True):
            history.append(state_stress(state, body))

    stepper = ImplicitEuler(dt=DT)
    stepper(bench.world, bench.world.initial_state())  # compiles or loads the kernels, so that no timed step does
    recorded = simulate(
        bench.world, stepper, until=DURATION, control=bench.control, callback=keep_stress, progress=True
    )
    check(recorded, bench)
    cells = sum(body.mesh.cell_count for body in bench.bodies)
    table = stage_table(
        recorded, title=f"{len(bench.bodies)} bodies, {cells} tetrahedra, {len(recorded.times) - 1} steps"
    )
    files = write_files(out, recorded, bench, [np.array(history) for history in stresses])
    return Outcome(recorded, table, files, page=files[1])


def state_stress(state: State, body: Volume) -> FloatArray:
    """Von Mises stress at the nodes of `body`, kPa, shape (n,)."""
    return 1e-3 * state.von_mises(body, at="nodes")


def check(recorded: Run, bench: Bench) -> None:
    """Raise unless every position is finite and a stiffer silicone sagged less."""
    tips = [recorded.points(body)[:, tip_node(body)] for body in bench.bodies]
    sag = [HEIGHT - float(tip[:, 2].min()) for tip in tips]
    if not all(np.isfinite(tip).all() for tip in tips) or not np.all(np.diff(sag) < 0.0):
        raise ConvergenceError(
            f"the tips sagged by {sag} m, from the softest silicone to the stiffest; expected a falling list"
        )


def tip_node(body: Volume) -> int:
    """The node of the thin end that is nearest to the axis."""
    x, y, z = body.mesh.points.T
    return int(np.argmin(np.hypot(y, z) - 10.0 * x))


def write_files(out: Path, recorded: Run, bench: Bench, stresses: list[FloatArray]) -> tuple[Path, ...]:
    """The picture, the page and the run."""
    bodies = zip(bench.bodies, stresses, strict=True)
    surfaces = [
        SurfaceFrames(body.mesh.surface().triangles.astype(np.int64), recorded.points(body), stress, body.name, STRESS)
        for body, stress in bodies
    ]
    surfaces.append(holder_surface(recorded.times))
    names = ", ".join(silicone.name for silicone in SILICONES)
    stats = {
        "real-time factor": f"{recorded.real_time_factor:.1f}×",
        "step": f"{1e3 * float(np.median(recorded.step_seconds)):.1f} ms",
        "time step": f"{1e3 * DT:.0f} ms",
        "tetrahedra": f"{sum(body.mesh.cell_count for body in bench.bodies)}",
    }
    title = "One shape, three silicones"
    picture = write_picture(
        out / "bending.png", surfaces=surfaces, frames=[0, 185], times=recorded.times, title=f"{title}: {names}"
    )
    caption = f"Front to back: {names}. The holder circles; only the material differs."
    page = write_page(
        out / "bending.html", surfaces=surfaces, times=recorded.times, title=title, caption=caption, stats=stats
    )
    return picture, page, recorded.save(out / "bending.npz")


def holder_surface(times: FloatArray) -> SurfaceFrames:
    """The plate that carries the tentacles, drawn only."""
    margin, thickness = 0.024, 0.010
    size = (thickness, SPACING * (len(SILICONES) - 1) + 2.0 * margin, 2.0 * margin)
    corner = np.array([-thickness, -margin, HEIGHT - margin])
    plate = meshes.box(size, (1, 1, 1)).translated(corner)
    frames = np.array([plate.points + holder_displacement(t) for t in times])
    return SurfaceFrames(plate.surface().triangles.astype(np.int64), frames, color="#8a93a3")
