"""The memory of a viscoelastic rod or beam: forces of the branches in each of its strains (`materials.viscoelastic`).

The elastic force of a strain e of a section is S = K e, K its relaxed stiffness. With branches and a viscosity it is

    N = S + Σ Qᵢ + ζ Ṡ,     Q̇ᵢ + Qᵢ/τᵢ = γᵢ Ṡ,

in a step N = (1 + ρ) K e + H with ρ = Σ bᵢ + ζ/h, H = Σ aᵢ Qᵢ − ρ Sₙ, and Sₙ, Qᵢ of the start. It is the force of an
elastic section that is stiffer, K′ = (1 + ρ) K, and has another strain at rest, e₀ = −H/K′: the kernels of elastic
sections take both, and a step costs two small loops more.

Bending and stretch relax with E(t), twist and shear with G(t). A `Viscoelastic` given for the whole body relaxes both
alike: its Poisson's ratio does not change, which is exact where it is ½.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.core.arrays import frozen
from pliant.core.checks import non_negative
from pliant.core.errors import InputError
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray
from pliant.materials import Material, Viscoelastic
from pliant.materials.viscoelastic import Relaxation
from pliant.models.scheme import Scheme

STRAINS = ("twist", "bend_y", "bend_z", "stretch", "shear_y", "shear_z")
"""The six strains of a rod, in the order of arrays: 1/m for the first three, no unit for the others."""
GROUPS = {"torsion": ("twist",), "bending": ("bend_y", "bend_z"), "shear": ("shear_y", "shear_z")}
"""Names of several strains at once."""
KEPT = 8
"""Times for which factors are kept: those of the parts of a step and of cut steps."""


def by_strain(what: str, given: Any, allowed: Sequence[str]) -> tuple[tuple[str, Any], ...] | None:
    """`given` as pairs (strain or group of strains, value); None where it is one value for all strains.

    A mapping, or pairs as files hold them. Only `allowed` names may occur, and no strain twice.
    """
    if isinstance(given, Mapping):
        given = tuple(given.items())
    if not isinstance(given, (tuple, list)):
        return None
    if not all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in given):
        raise InputError(f"{what} must be one value or a dictionary {{strain: value}}, got {given!r:.60}")
    pairs = tuple((str(name), value) for name, value in given)
    known: dict[str, str] = {}
    for name, _ in pairs:
        if name not in allowed:
            raise InputError(f"{what}: {name!r} is none of its strains; they are {', '.join(allowed)}")
        for strain in GROUPS.get(name, (name,)):
            if strain in known:
                raise InputError(f"{what}: {known[strain]!r} and {name!r} both give {strain!r}; leave one out")
            known[strain] = name
    return pairs


def expanded(given: Any, pairs: tuple[tuple[str, Any], ...] | None, default: Any) -> list[Any]:
    """A value for each of `STRAINS`: that of `pairs`, or `default`; where `pairs` is None it is `given`."""
    if pairs is None:
        return [given] * len(STRAINS)
    values = {strain: value for name, value in pairs for strain in GROUPS.get(name, (name,))}
    return [values.get(strain, default) for strain in STRAINS]


def common_base(what: str, given: Any, pairs: tuple[tuple[str, Any], ...] | None) -> Material:
    """The elastic material, on which all materials of the strains of a body are made; an error where they differ."""
    named = (("", given),) if pairs is None else pairs
    if not named:
        raise InputError(f"{what} has no entries; give a material of pl.materials")
    bases = []
    for name, material in named:
        if not isinstance(material, Material):
            at = f" for {name!r}" if name else ""
            raise InputError(f"{what}{at} must be one of pl.materials, got {material!r}")
        base = material.base if isinstance(material, Viscoelastic) else material
        if getattr(material, "softening", None) is not None or getattr(base, "softening", None) is not None:
            raise InputError(f"{what} softens ({base!r}); rods and beams do not: give the material that it is based on")
        bases.append(base)
    other = next((k for k, base in enumerate(bases) if base != bases[0]), None)
    if other is not None:
        raise InputError(
            f"{what}: {named[0][0]!r} and {named[other][0]!r} have different bases; a body has one elastic material: "
            "make every Viscoelastic on the same base"
        )
    return bases[0]


def strain_damping(what: str, given: Any, allowed: Sequence[str]) -> list[float]:
    """Coefficients (s) of stiffness-proportional damping of each of `STRAINS`."""
    pairs = by_strain(what, given, allowed)
    for name, value in pairs or ():
        non_negative(f"{what} for {name!r}", value, unit="s")
    return [float(value) for value in expanded(given, pairs, 0.0)]


def relaxations_of(materials: Sequence[Any], damping: Sequence[float]) -> tuple[Relaxation | None, ...]:
    """How the force of each strain fades: that of its material, with `damping` (s) added to the viscosity."""
    made = []
    for material, extra in zip(materials, damping, strict=True):
        own = getattr(material, "relaxation", None) or Relaxation((), (), 0.0)
        total = own._replace(viscosity=own.viscosity + extra)
        made.append(total if total.times or total.viscosity else None)
    return tuple(made)


@dataclass(frozen=True, eq=False)
class Factors:
    """A time that passes, in numbers: `decay` a and `gain` b (6, branches), `rate` ρ (6,), and K′ (m, 6)."""

    decay: FloatArray
    gain: FloatArray
    rate: FloatArray
    stiffer: FloatArray


@dataclass(frozen=True, eq=False)
class SlenderMemory:
    """What the m sections or elements of a slender body remember, with six strains each: `relaxations` of the strains,
    and their relaxed `stiffness` (m, 6).

    A history is an array (m, 1 + branches, 6): S and the forces Q of the branches, N and N·m.
    """

    relaxations: tuple[Relaxation | None, ...]
    stiffness: FloatArray
    _factors: dict[tuple[float, bool], Factors] = field(default_factory=dict)

    @classmethod
    def of(cls, relaxations: Sequence[Relaxation | None], stiffness: FloatArray) -> SlenderMemory | None:
        """The memory of sections with `stiffness` (m, 6); None where no strain remembers."""
        if not any(relaxations):
            return None
        return cls(tuple(relaxations), np.ascontiguousarray(stiffness.reshape(-1, 6)))

    @property
    def branches(self) -> int:
        """The largest number of branches of a strain."""
        return max(len(relaxation.times) for relaxation in self.relaxations if relaxation is not None)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Shape of a history."""
        return len(self.stiffness), 1 + self.branches, 6

    def start(self, strains: FloatArray) -> FloatArray:
        """The history of a body that is relaxed at `strains` (m, 6)."""
        history = np.zeros(self.shape)
        history[:, 0] = self.stiffness * strains
        return history

    def at_start(self, history: FloatArray, scheme: Scheme) -> tuple[FloatArray, FloatArray]:
        """K′ and e₀, both (m, 6), of a step that begins with `history`."""
        f, rest = self._of(scheme, scheme.elapsed), np.empty(self.stiffness.shape)
        strains_at_rest(frozen(history), f.decay, f.rate, f.stiffer, rest)
        return f.stiffer, rest

    def after(self, history: FloatArray, scheme: Scheme, strains: FloatArray) -> FloatArray:
        """The history at the end of a step that led to `strains` (m, 6)."""
        f, made = self._of(scheme, scheme.dt), np.empty(history.shape)
        advance(frozen(strains), self.stiffness, f.decay, f.gain, frozen(history), made)
        return made

    def branch_forces(self, history: FloatArray | None) -> FloatArray:
        """Σ Q of each strain, (m, 6), N and N·m; 0 where the body is relaxed."""
        return np.zeros(self.stiffness.shape) if history is None else np.asarray(history[:, 1:].sum(axis=1))

    def _of(self, scheme: Scheme, elapsed: float) -> Factors:
        key = elapsed, scheme.dt == 0.0 and not scheme.instantaneous
        if key not in self._factors:
            if len(self._factors) >= KEPT:
                self._factors.pop(next(iter(self._factors)))
            self._factors[key] = self._made(*key)
        return self._factors[key]

    def _made(self, elapsed: float, relaxed: bool) -> Factors:
        decay, gain, rate = np.zeros((6, self.branches)), np.zeros((6, self.branches)), np.zeros(6)
        for k, relaxation in enumerate(self.relaxations):
            if relaxation is not None and not relaxed:
                own = len(relaxation.times)
                decay[k, :own], gain[k, :own], viscous = relaxation.factors(elapsed)
                rate[k] = gain[k].sum() + viscous
        return Factors(decay, gain, rate, self.stiffness * (1.0 + rate))


@kernel
def strains_at_rest(history, decay, rate, stiffer, rest):
    """e₀ = −(Σ a Q − ρ S)/K′ of each strain into `rest` (m, 6); a from `decay` (6, b), ρ from `rate` (6,)."""
    for e in range(len(rest)):
        for k in range(6):
            total = rate[k] * history[e, 0, k]
            for branch in range(decay.shape[1]):
                total -= decay[k, branch] * history[e, 1 + branch, k]
            rest[e, k] = total / stiffer[e, k]


@kernel
def advance(strains, stiffness, decay, gain, before, after):
    """The history `before` (m, 1 + b, 6) brought to `strains` (m, 6), into `after`: S, and a Q + b (S − S_before)."""
    for e in range(len(strains)):
        for k in range(6):
            S = after[e, 0, k] = stiffness[e, k] * strains[e, k]
            change = S - before[e, 0, k]
            for branch in range(decay.shape[1]):
                after[e, 1 + branch, k] = decay[k, branch] * before[e, 1 + branch, k] + gain[k, branch] * change
