"""Contact statics and actuated statics: builders of small cases, each with one number that is compared.

A builder returns a `Case`. `expected` is a closed form where there is one. Every case has a second answer that owes
nothing to the quasi-static solver: slow, nearly massless dynamics of the same world (`settled`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pliant as pl

NEO = pl.materials.NeoHookean(young=1e5, poisson=0.3, density=1e3)
UNIAXIAL = pl.materials.NeoHookean(young=1e5, poisson=0.0, density=1e3)


@dataclass
class Case:
    """A world, the controls of its one call, and the number to compare: `measure(state, info)`.

    `within` is how near the closed form it has to be, `close` how near slow dynamics, relative.
    `dt` is the time that passes in the call, for obstacles that move. `ramp` is the time over which dynamics applies
    the controls, `rest` that which it then waits, `step` its time step, s. Bodies that slide are compared while they
    are driven (rest = 0): when the drive stops, they spring back by what inertia had added, and at nodes that a support
    constrains friction is any force within its cone.
    """

    world: Any
    measure: Callable[[Any, Any], float]
    controls: dict[Any, Any] = field(default_factory=dict)
    dt: float | None = None
    expected: float | None = None
    within: float = 0.01
    close: float = 1e-3
    ramp: float = 1.0
    rest: float = 1.0
    step: float = 0.02

    def solved(self):
        """State, report and measured number of one quasi-static call."""
        state, info = pl.QuasiStatic(dt=self.dt)(self.world, self.world.initial_state(), self.controls)
        return state, info, self.measure(state, info)

    def settled(self):
        """The number measured after slow dynamics: the controls are applied in `ramp` s, then bodies come to rest."""
        step, state, info = pl.ImplicitEuler(self.step), self.world.initial_state(), None
        for k in range(round((self.ramp + self.rest) / self.step)):
            fraction = min((k + 1) * self.step / self.ramp, 1.0)
            scaled = {handle: _scaled(value, fraction) for handle, value in self.controls.items()}
            state, info = step(self.world, state, scaled)
        return self.measure(state, info), max(float(np.abs(v).max()) for v in state.v)


def _scaled(value, fraction):
    """A fraction of a control value."""
    if isinstance(value, pl.VolumeRatio):
        return pl.VolumeRatio(1.0 + fraction * (value.value - 1.0))
    return type(value)(fraction * np.asarray(value.value) if np.ndim(value.value) else fraction * value.value)


def cells(*counts, fine=1):
    """`fine` times the counts of cells."""
    return tuple(round(fine * count) for count in counts)


def box(scene, size, counts, at=(0, 0, 0), material=NEO, element="hex8", **options):
    """A block with its lower corner at `at`."""
    mesh = pl.mesh.box(size, counts, element=element).translated(at)
    return scene.add(pl.Volume(mesh, material, **options))


def floor(scene, z=0.0):
    """A wide plane at the height z."""
    return scene.add(pl.Obstacle.plane(point=(0, 0, z), normal=(0, 0, 1)))


def plate(scene, z, travel, width=0.2, mass=0.01, center=(0.0, 0.0)):
    """A rigid plate whose lower face is at the height z, on a slider that goes up by `travel`."""
    rigid = scene.add(pl.RigidBody.box(size=(width, width, 0.01), mass=mass, position=(*center, z + 0.005)))
    return rigid, scene.add(pl.Slider(rigid, (0, 0, 1))), travel


def top(state, body):
    return float(state.points(body)[:, 2].max())
