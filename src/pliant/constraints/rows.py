"""Rows: scalar equations with a gap δ, its gradient H in the unknowns of each model, and a law that relates δ and λ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.constraints.row_blocks import RowBlocks
from pliant.core.arrays import frozen
from pliant.core.errors import InputError
from pliant.core.immutable import filled, fresh, handle_of
from pliant.core.kernels import kernel
from pliant.core.types import FloatArray, IndexArray, IntArray
from pliant.models.model import GeometricStiffness
from pliant.models.workspace import Workspace
from pliant.solvers.contact import Law

if TYPE_CHECKING:
    from pliant.constraints.assembly import Bundle
    from pliant.constraints.coupling import Coupling

RowLaw = Law
"""How λ and δ of a row relate; see `solvers.contact.Law`."""
COMPLIANT = 100
"""A further law of rows, of springs: δ + C λ = target, with the compliance C (m/N) in the column `upper`. Solvers see a
bilateral row, with C on the diagonal of W (`constraints.condense`).
"""


Laws = tuple[int, int, float, float, int | bytes]
"""Number of rows of one law without friction, their law, the bounds of λ (N), and their key, or the bytes of all keys.
"""
_FEW = 64
"""Rows up to which columns are kept from step to step; sets of contacts change."""

COLUMNS = ("gap", "law", "mu", "lower", "upper", "target", "key")
"""Arrays (m,) of `Rows`."""


@dataclass(frozen=True, eq=False)
class Rows:
    """m rows over the models of a world.

    `H` holds one CSR matrix (m, unknowns) for each model; `gap` (m,) is δ at the linearisation point, so that
    δ = gap + Σ H dx, in m (m³ for chambers). `law` (m,), `mu` (m,), `lower` and `upper` (m,) in N and `target` (m,) are
    those of `solvers.contact.MixedProblem`. `key` (m,) identifies a row from step to step.
    `laws` names the columns of rows of few laws, which are the same in each step; None where they have to be read.
    """

    H: Sequence[sparse.csr_matrix]
    gap: FloatArray
    law: IntArray
    mu: FloatArray
    lower: FloatArray
    upper: FloatArray
    target: FloatArray
    key: IndexArray
    laws: tuple[Laws, ...] | None = None

    @classmethod
    def of(
        cls, H: Sequence[sparse.csr_matrix], gap: Any, law: Any, *,
        mu: Any = 0.0, lower: Any = -np.inf, upper: Any = np.inf, target: Any = 0.0, key: Any = -1,
    ) -> Rows:  # fmt: skip
        """Rows; a single number applies to all of them."""
        gaps = np.atleast_1d(np.asarray(gap, np.float64))
        blocks = RowBlocks.of(H)

        def spread(value: Any, kind: Any = np.float64) -> Any:
            if isinstance(value, (int, float)):
                return _constant(len(gaps), value, kind)
            if isinstance(value, np.ndarray) and value.shape == gaps.shape:
                return value.astype(kind, copy=False)
            return np.full(gaps.shape, value, kind)

        named = _name_of(key, gaps) if isinstance(law, int) and isinstance(mu, float) and mu == 0.0 else None
        if named is not None and isinstance(lower, float) and isinstance(upper, float):
            name = len(gaps), law, lower, upper, named
            return fresh(cls, H=blocks, gap=gaps, target=spread(target), **_one_law(*name), laws=(name,))
        own = {"mu": spread(mu), "lower": spread(lower), "upper": spread(upper), "target": spread(target)}
        return fresh(cls, H=blocks, gap=gaps, law=spread(law, np.int32), **own, key=spread(key, np.int64))

    @classmethod
    def drive(cls, H: RowBlocks, gap: float, law: tuple[int, float, float, float], key: int) -> Rows:
        """The row `key` of an actuator with δ = `gap` and its `law`, bounds and target: `of` in a third of the time."""
        kind, lower, upper, target = law
        name = 1, kind, lower, upper, key
        own = {"H": H, "gap": np.array([gap]), "target": np.array([target]), "laws": (name,)}
        return filled(cls, own | _one_law(*name))

    @classmethod
    def drives(
        cls, H: RowBlocks, gap: FloatArray, laws: Sequence[tuple[int, float, float, float]], keys: Sequence[int]
    ) -> Rows:
        """A row for each of several actuators: δ = `gap` (m,), its law, bounds and target, and its key."""
        names = tuple([(1, kind, lower, upper, key) for (kind, lower, upper, _), key in zip(laws, keys, strict=True)])
        targets = np.array([target for _, _, _, target in laws])
        return fresh(cls, H=H, gap=gap, target=targets, **joined_laws(names), laws=names)

    @classmethod
    def imposed(cls, H: Sequence[sparse.csr_matrix], gap: FloatArray) -> Rows:
        """Rows without forces, δ = `gap` (m,), that nothing names."""
        name = len(gap), int(RowLaw.IMPOSED), -np.inf, np.inf, -1
        columns = _one_law(*name)
        return fresh(cls, H=RowBlocks.of(H), gap=gap, target=columns["mu"], **columns, laws=(name,))

    @classmethod
    def none(cls, sizes: Sequence[int]) -> Rows:
        """No rows over models of so many unknowns."""
        columns = _one_law(0, int(RowLaw.SIGNORINI), -np.inf, np.inf, -1)
        empty = columns["mu"]
        return filled(cls, {"H": RowBlocks(0, sizes), "gap": empty, "target": empty, "laws": ()} | columns)

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.gap)

    def part(self, own: slice) -> Rows:
        """The rows of a slice."""
        return Rows(RowBlocks.of(self.H).part(own), **{name: getattr(self, name)[own] for name in COLUMNS})


@dataclass(frozen=True, eq=False)
class RowView:
    """What constraints see of a step.

    `q` are the positions or poses of the models at the displacement so far, `moved`; `start` those at the start of the
    step. `time` (s) is the end of the step, `dt` (s) its length, 0 in quasi-static steps. `interval` (s) is the time
    that passes: dt, or the dt of a quasi-static stepper, else 0. `speeds` are the velocities of the models at the
    start, `gravity` (m/s²) its magnitude; `last_keys` and `last_lam` the rows of the previous step and their λ.
    `approach` (m) is how far beyond their margins contacts are looked for in a quasi-static solve, and `coarse` says
    that it leaves round bodies to the vertices of cells up to their own width; `still`, that the motion of the step is
    over, so that no plane of contact is turned against the motion that velocities predict.
    `velocity_offsets` are v⁺ − dx/h of the models, m/s, empty where all are zero (`models.volume.free_rotation`).
    `workspace` is that of the stepper, None outside of one. `evaluated` are the positions where forces are evaluated,
    q + θ dx, empty where they are `q`, and `theta` is θ.
    """

    q: Sequence[FloatArray]
    start: Sequence[FloatArray]
    moved: Sequence[FloatArray]
    sizes: Sequence[int]
    controls: Mapping[Any, Any]
    time: float
    dt: float
    interval: float = 0.0
    speeds: Sequence[FloatArray] = ()
    gravity: float = 0.0
    last_keys: IndexArray | None = None
    last_lam: FloatArray | None = None
    memory: Any = None
    approach: float = 0.0
    coarse: bool = False
    still: bool = False
    velocity_offsets: Sequence[FloatArray | None] = ()
    workspace: Workspace | None = None
    evaluated: Sequence[FloatArray] = ()
    theta: float = 1.0

    @classmethod
    def of(cls, models: Sequence[Any], q: Sequence[FloatArray] | None = None, **options: Any) -> RowView:
        """A view of `models` at rest at `q`, by default initially, outside of a step; `options` are other fields."""
        now = [model.initial()[0] for model in models] if q is None else q
        still = [np.zeros_like(model.initial()[1]) for model in models]
        rest: dict[str, Any] = {"start": now, "moved": still, "speeds": still, "controls": {}, "time": 0.0, "dt": 0.0}
        return cls(q=now, sizes=[model.size for model in models], **rest | options)

    def blank(self, count: int) -> RowBlocks:
        """Empty rows (count, unknowns) for every model, to be replaced for those that a constraint moves."""
        return RowBlocks(count, self.sizes)

    def last_force(self, key: int) -> float:
        """λ of the row `key` at the end of the previous step; 0 where it did not exist."""
        if self.last_keys is None or self.last_lam is None:
            return 0.0
        found = np.flatnonzero(self.last_keys == key)
        return float(self.last_lam[found[0]]) if len(found) else 0.0


def model_index(models: Sequence[Any], body: Any) -> int:
    """Index of the model of `body` among `models`."""
    handle = handle_of(body)
    return next(k for k, model in enumerate(models) if model.handle is handle)


def forces_of(
    wanted: IndexArray, keys: IndexArray | None, lam: FloatArray | None, *, named: bool = False
) -> FloatArray:
    """λ (k,) of the rows `wanted` (k,) among the rows `keys` with `lam`; 0 for those that are not there, or that
    nothing names (key < 0). None of the latter are `wanted` where `named`.
    """
    if keys is None or lam is None or not len(lam):
        return np.zeros(len(wanted))
    if named and wanted.tobytes() == keys.tobytes():
        return lam.copy()
    found = np.empty(len(wanted))
    _find_forces(frozen(wanted), frozen(keys), frozen(lam), found)
    return found


@kernel
def _find_forces(wanted: IndexArray, keys: IndexArray, lam: FloatArray, found: FloatArray) -> None:
    """λ by key, each looked for behind the one before it first: rows mostly keep their order from step to step."""
    count, at = len(keys), 0
    for i in range(len(wanted)):
        found[i] = 0.0
        for k in range(count if wanted[i] >= 0 else 0):
            place = at + k if at + k < count else at + k - count
            if keys[place] == wanted[i]:
                found[i], at = lam[place], (place + 1) % count
                break


@lru_cache(maxsize=1024)
def _constant(count: int, value: float, kind: Any) -> Any:
    """One number `count` times, read-only since it is shared."""
    made = np.full(count, value, kind)
    made.setflags(False)
    return made


def _name_of(key: Any, gaps: FloatArray) -> int | bytes | None:
    """The keys of rows as part of a name of their columns (`Laws`), None where these are not kept."""
    if isinstance(key, int):
        return key
    few = isinstance(key, np.ndarray) and key.shape == gaps.shape and len(key) <= _FEW and key.dtype == np.int64
    return key.tobytes() if few else None


@lru_cache(maxsize=1024)
def _one_law(count: int, law: int, lower: float, upper: float, key: int | bytes) -> dict[str, Any]:
    """Columns of `count` rows of one law without friction, read-only since they are shared."""
    return {
        "mu": _constant(count, 0.0, np.float64),
        "law": _constant(count, law, np.int32),
        "lower": _constant(count, lower, np.float64),
        "upper": _constant(count, upper, np.float64),
        "key": np.frombuffer(key, np.int64) if isinstance(key, bytes) else _constant(count, key, np.int64),
    }


@lru_cache(maxsize=256)
def joined_laws(laws: tuple[Laws, ...]) -> dict[str, Any]:
    """Columns of rows of several laws, one below the other, read-only since they are shared."""
    parts = [_one_law(*each) for each in laws]
    return {name: frozen(np.concatenate([part[name] for part in parts])) for name in parts[0]}


Stiffnesses = Iterable[tuple[int, GeometricStiffness]]
_NO_KEYS: IndexArray = np.zeros(0, np.int64)


class Constraint:
    """Anything that contributes rows: an actuator, an attachment, a contact pair.

    A step calls `detect`, then `rows` with what was detected. A new kind of constraint provides `spec`, which has a
    name, and `rows`; the rest has defaults.
    """

    is_contact: ClassVar[bool] = False
    """Whether it is a contact pair, of two sides `a` and `b` with friction `mu`."""

    prescribes: ClassVar[bool] = False
    """Whether it has a value along the load path of a quasi-static solve: `displacement(q)` now, `spec.value` or a
    command at the end.
    """

    detects: ClassVar[bool] = False
    """Whether `detect` finds anything; set where a class overrides it."""

    spec: Any
    """What a person added to the scene."""

    @property
    def bundle_key(self) -> Any:
        """What neighbours have in common that their `bundle` evaluates in one pass; None: it stays single."""
        return None

    def carried(self, index: int) -> list[tuple[Any, Callable[[Any], Constraint]]] | None:
        """Maps of the points that it takes from the material of body `index`, each with what makes the constraint with
        another map; None where it follows the rest shape of the body in another way. Of contacts the nodes touch.
        """
        return [] if self.is_contact else None

    @classmethod
    def bundle(cls, first: int, members: Sequence[Any]) -> Bundle:
        """Neighbours with one `bundle_key`, the first of which has the index `first`."""
        raise NotImplementedError

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.detects = cls.detect is not Constraint.detect

    @property
    def name(self) -> str:
        """Name of the constraint, for people: that of `spec` by default."""
        return str(self.spec.name)

    @cached_property
    def handle(self) -> Any:
        """What was added to the scene: `spec`, unless that has other numbers since (`world.changed`)."""
        return handle_of(self.spec)

    def detect(self, view: RowView) -> Any:
        """Collision detection and other geometric queries at the positions of `view`; None where there are none."""
        return None

    def rows(self, view: RowView, found: Any) -> tuple[Rows, Any]:
        """Rows at the positions of `view` from what `detect` `found`, and the memory for the next step, or None."""
        raise NotImplementedError

    def rows_at(self, view: RowView) -> tuple[Rows, Any]:
        """Detection and rows in one call."""
        return self.rows(view, self.detect(view))

    def constrains(self, index: int) -> bool:
        """Whether the rows may constrain all rigid motions of body `index`, so that a quasi-static solve need not."""
        return False

    def welds(self, index: int) -> bool:
        """Whether the rows constrain body `index` bilaterally, from the first linear solve on."""
        return False

    def connects(self, index: int) -> bool:
        """Whether the rows transmit forces between body `index` and others, so that an inverse can act through them."""
        return self.constrains(index)

    @property
    def direction_models(self) -> tuple[int, ...]:
        """Indices of models whose motion turns the rows without stiffness: their last correction must be small."""
        return ()

    @property
    def stiff_models(self) -> tuple[int, ...]:
        """Indices of the models whose matrix λ of the rows adds stiffness to; empty where λ adds none."""
        return ()

    @property
    def stiff_keys(self) -> IndexArray:
        """Identities of the rows whose λ adds stiffness."""
        return _NO_KEYS

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` × (−λ ∂²δ/∂q²) at q for λ of the rows `stiff_keys`: indices of models and terms of their matrices."""
        return ()

    def bounded_stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """A stiffness of which a full linear solve does not overshoot, for steps without line search."""
        return self.stiffness(q, lam, scale)

    def turning_stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """What λ of the rows `stiff_keys` adds because lever arms turn with their bodies, of either sign: Newton's
        iteration to a tolerance needs it, a single linear solve is safer without.
        """
        return ()

    def coupling(self, q: Sequence[FloatArray], lam: FloatArray, sizes: Sequence[int]) -> Coupling | None:
        """Stiffness between models of `sizes` unknowns at q by λ of the rows `stiff_keys`; None where there is none."""
        return None

    def rates(self, view: RowView, rows: Rows, memory: Any) -> FloatArray:
        """dδ/dt (m,), m/s, that closed rows have at the end of the step at `view`: zero, the mean rate of a command, or
        that of a moving obstacle. `rows` are those of the constraint alone, `memory` what they left.
        """
        return np.zeros(rows.count)

    def elastic_energy(self, q: Sequence[FloatArray]) -> float:
        """Energy that it stores with the models at q, J."""
        return 0.0

    def overlap(self, view: RowView) -> float:
        """Largest penetration at the positions of `view`, m; 0 without contacts."""
        return 0.0

    def obstruction(self, q: Sequence[FloatArray]) -> str | None:
        """What keeps the constraint from going on to its target with the models at q, in a sentence, or None."""
        return None

    def check_memory(self, memory: Any) -> None:
        """An error where `memory`, perhaps read from a file, is none that `rows` of this constraint may have left."""
        wanted = getattr(self, "memory_type", None)
        if wanted is None or not isinstance(memory, wanted):
            kind = "None" if wanted is None else wanted.__name__
            raise InputError(f"the memory of {self.name!r} must be a {kind}, got a {type(memory).__name__}")

    def warnings(self, view: RowView, memory: Any) -> tuple[str, ...]:
        """Warnings for people about a step that ended at `view` with `memory` left by `rows`."""
        return ()

    def unknown_pushing(self, memory: Any, lam: FloatArray) -> int:
        """Number of pushing contacts outside all modes of a reduced contact, for λ (rows,) N of the rows."""
        return 0
