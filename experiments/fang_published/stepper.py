"""The stepper of the published method, with what the method leaves to choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, get_args

import numpy as np

from experiments.fang_published.blend import CONSTANT, Softening, Weighting
from experiments.fang_published.info import LocalGlobalInfo
from experiments.fang_published.step import Step, check
from pliant.core.checks import finite_array, positive, positive_count
from pliant.core.errors import InputError
from pliant.core.threads import one_blas_thread
from pliant.materials import Material
from pliant.world import State, World

ECOFLEX_00_30 = ((1.0, 1.0), (1.1, 0.874), (1.25, 0.736), (1.5, 0.588), (2.0, 0.43), (3.0, 0.298), (4.0, 0.238))
"""Softening of the softer silicone of the paper: pairs of stretch and ω over ω at rest, without unit. Fitted to its
Mooney–Rivlin data, because the formula that the paper cites is not published.
"""


@dataclass(frozen=True)
class LocalGlobal:
    """The published local–global method as a stepper: `LocalGlobal(…)(world, state, controls)`.

    Controls are `pl.VolumeRatio(α)` for chambers; α is nominal. There is no time and no gravity. The defaults are those
    of the paper but for the weights of elements.

    tolerance
        ‖force‖ over the free nodes at which the iteration stops, as a fraction of the largest norm of a part of it.
    omega
        Fraction ω of the rest shape in a blend, in (0, 1]; None takes ω = (1 − 2ν)/(1 + ν) from each material.
    softening
        Pairs (stretch, ω over ω at rest), stretches rising; none: ω is constant, as in the released program.
    weighting
        "elastic", "published" or "released" (`blend`).
    chamber_weight
        Weight of the air over that of the body's material: nothing physical, and the shape depends on it.
    step
        Largest ratio of the nominal volumes of two solutions on the load path, α_max of the paper.
    remesh
        Whether chambers are filled again at all; False shows what figure 7b does.
    max_growth, max_distortion
        Growth in volume, and norm of the singular values, of an element of a chamber since it was made, above which
        its chamber is filled again.
    cell_size
        Wanted edges inside chambers, m; None: the mean edge of the chamber's surface.
    window
        Differences that the acceleration uses; 0: plain rounds.
    rounds
        Rounds over the Laplacian for one solution.
    finish
        Whether what is left after the rounds is done over the elastic matrix of the blends (`blend_tangent`),
        which finds the same fixed point; False: rounds only, as published.
    iterations
        Most steps of the finish.
    stop_motion
        Stop once no node moves farther than this in a round, m, as the released program does (3e-5 at its tip),
        wherever the fixed point is; None: by the tolerance alone.
    spring
        Stiffness of the springs of collided vertices over the diagonal of the Laplacian there; much stiffer ones do not
        settle, much softer ones let vertices in.
    offset
        Distance ε to which springs push vertices out, m; None: a thousandth of the size of the largest body.
    plastic
        Whether the shape at the start of a step is taken as the rest shape of the body, as the released program does.
    """

    _: KW_ONLY
    tolerance: float = 1e-5
    omega: float | None = None
    softening: Sequence[tuple[float, float]] = ()
    weighting: Weighting = "elastic"
    chamber_weight: float = 0.01
    step: float = 4.0
    remesh: bool = True
    max_growth: float = 4.0
    max_distortion: float = 4.0
    cell_size: float | None = None
    window: int = 6
    rounds: int = 30
    finish: bool = True
    iterations: int = 200
    stop_motion: float | None = None
    spring: float = 1.0
    offset: float | None = None
    plastic: bool = False

    def __post_init__(self) -> None:
        positive("tolerance", self.tolerance)
        if self.omega is not None and not 0.0 < self.omega <= 1.0:
            raise InputError(f"omega must lie above 0 and be at most 1, got {self.omega:g}")
        if self.weighting not in get_args(Weighting):
            raise InputError(f"weighting must be one of {', '.join(get_args(Weighting))}, got {self.weighting!r}")
        for name in ("chamber_weight", "max_growth", "max_distortion", "spring"):
            positive(name, getattr(self, name))
        for name in ("cell_size", "stop_motion", "offset"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name), unit="m")
        if not self.step > 1.0:
            raise InputError(f"step must be above 1, got {self.step:g}")
        if isinstance(self.window, bool) or not isinstance(self.window, int) or self.window < 0:
            raise InputError(f"window must be a whole number ≥ 0, got {self.window!r}")
        positive_count("rounds", self.rounds)
        positive_count("iterations", self.iterations)
        if len(self.softening):
            self.softening_table()

    def __call__(
        self, world: World, state: State, controls: Mapping[Any, Any] | None = None
    ) -> tuple[State, LocalGlobalInfo]:
        """The shape reached from `state`, which is left as it is, and what it took.

        The new state remembers the elements of the chambers (`chambers.Filling`). A `ConvergenceError` or `MeshError`
        has the last accepted state as its `result`.
        """
        values = world.controls(controls)
        check(world, values)
        with one_blas_thread():
            step = Step(self, world, state, values)
            step.walk()
        return step.accepted, step.info()

    def softening_table(self) -> Softening:
        """The softening as arrays."""
        if not len(self.softening):
            return CONSTANT
        stretch, ratio = finite_array("softening", self.softening, shape=(None, 2)).T.copy()
        if (np.diff(stretch) <= 0.0).any() or (ratio <= 0.0).any():
            raise InputError("softening needs pairs (stretch, ratio) with rising stretches and ratios above 0")
        return Softening(stretch, ratio)

    def blend_of(self, material: Material) -> tuple[float, float]:
        """ω and the weight W (Pa) of a material: μ = W ω, and ν = (1 − ω)/(2 + ω) unless `omega` says otherwise."""
        nu = material.small_strain_poisson
        omega = (1.0 - 2.0 * nu) / (1.0 + nu) if self.omega is None else self.omega
        if omega > 1.0:
            raise InputError(f"a blend has a Poisson's ratio of 0 or more, but the material has {nu:g}: give an omega")
        return omega, material.shear_modulus / omega
