"""Linear constraints among displacements and rotations of points: Σ aᵢ·uᵢ = b, bilateral rows.

uᵢ is the displacement of an embedded point since the world began, or the rotation vector of its frame. A linear
constraint may be redundant with others, which then share its force; contradicting ones raise an error that names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from pliant.constraints.keys import LINEAR, row_keys
from pliant.constraints.rows import Constraint, RowLaw, Rows, RowView, Stiffnesses, model_index
from pliant.core.checks import finite_array, finite_number, non_negative, unit_vector
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.lie import cross_matrix, rotation_log
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray, IndexArray
from pliant.mesh.regions import as_region
from pliant.models.body import Body, Model
from pliant.models.model import MatrixStiffness

_PICKS = ("all", "first", "rest", "mean")


@one_line
@dataclass(frozen=True, eq=False)
class Term:
    """`coefficient` (3,), no unit, times the displacement (m) of points of `body`.

    points
        (k, 3) m, where they stand when the world begins; or
    region
        A region or a list of node indices of a volume, a beam or a rod, in the frame in which it was made.
    pick
        "all" points, one row each; the "first" of them or their "mean", in every row; or the "rest" after the first.
    rotation
        Whether the coefficient is that of the rotation vector (rad, less than half a turn) of the frames there: of
        beams, rods and rigid bodies.
    reach
        Largest distance of a point outside the body, m.
    """

    body: Any
    coefficient: Any
    _: KW_ONLY
    points: Any = None
    region: Any = None
    pick: str = "all"
    rotation: bool = False
    reach: float = 0.0

    def __post_init__(self) -> None:
        name = getattr(self.body, "name", self.body)
        if not isinstance(self.body, Body):
            raise InputError(f"a Term is of a body, such as pl.Volume, got {name!r}")
        if not isinstance(self.pick, str) or not isinstance(self.rotation, (int, np.integer, np.bool_)):
            raise InputError(f"pick of a Term on {name!r} must be a text, its rotation True or False")
        given = finite_array(f"coefficient of a Term on {name!r}", self.coefficient, shape=(3,))
        if not given.any():
            raise InputError(f"the coefficient of a Term on {name!r} is zero: leave the Term out")
        if (self.points is None) == (self.region is None):
            raise InputError(f"a Term on {name!r} needs either points or a region, not both")
        if self.points is not None:
            finite_array(f"points of a Term on {name!r}", np.atleast_2d(self.points), shape=(None, 3))
        if self.pick not in _PICKS:
            raise InputError(f"pick of a Term must be one of {', '.join(_PICKS)}, got {self.pick!r}")
        if self.rotation and not self.body.has_frames:
            raise InputError(f"{name!r} is a volume, whose points do not rotate: constrain several points instead")
        non_negative(f"reach of a Term on {name!r}", self.reach, unit="m")


@one_line
@dataclass(frozen=True, eq=False)
class LinearConstraint:
    """The sum of `terms` is `value` (m; rad of rotations), in one row, or in one for each of the points of its terms.

    Terms of one point, or of the mean of several, belong to every row. As a control: a new value, `pl.Displacement(m)`;
    a quasi-static solve goes there in increments.
    """

    terms: Any
    _: KW_ONLY
    value: float = 0.0
    name: str = "linear constraint"

    def __post_init__(self) -> None:
        check_declared(self)
        several = self.terms if isinstance(self.terms, (tuple, list)) else ()
        given = (self.terms,) if hasattr(self.terms, "coefficient") else tuple(several)
        if not given or not all(hasattr(term, "coefficient") for term in given):
            raise InputError(f"terms of {self.name!r} must be one or more of pl.Term(body, coefficient, …)")
        object.__setattr__(self, "terms", given)
        object.__setattr__(self, "value", finite_number(f"value of {self.name!r}", self.value))

    @property
    def bodies(self) -> tuple[Any, ...]:
        """The constrained bodies, each once."""
        return tuple(dict.fromkeys(term.body for term in self.terms))

    def checked(self, value: Any) -> float:
        """A control, one value for all rows."""
        return finite_number(f"control of {self.name!r}", value)

    @classmethod
    def plane(cls, body: Any, region: Any, *, normal: Any, **options: Any) -> LinearConstraint:
        """Nodes of `region` move in a plane with the unit `normal` (3,): symmetry, or a smooth inclined wall."""
        along = unit_vector("normal of a plane", normal)
        return cls(Term(body, along, region=region), **{"name": "symmetry plane", **options})

    @classmethod
    def equal(cls, body: Any, region: Any, *, direction: Any, **options: Any) -> LinearConstraint:
        """All nodes of `region` have the same displacement along `direction` (3,)."""
        along = unit_vector("direction of equal displacements", direction)
        terms = [Term(body, along, region=region, pick="rest"), Term(body, -along, region=region, pick="first")]
        return cls(terms, **{"name": "equal displacements", **options})

    @classmethod
    def periodic(cls, body: Any, points: Any, *, period: Any, direction: Any, **options: Any) -> LinearConstraint:
        """The displacement along `direction` (3,) at `points` (k, 3) m plus `period` (3,) m is that at `points`, plus
        `value` (m). Meshes of the two faces need not match.
        """
        along = unit_vector("direction of a periodic constraint", direction)
        first = finite_array("points of a periodic constraint", points, shape=(None, 3))
        other = first + finite_array("period", period, shape=(3,))
        terms = [Term(body, along, points=other, reach=1e-6), Term(body, -along, points=first, reach=1e-6)]
        return cls(terms, **{"name": "periodic pairs", **options})


@dataclass(frozen=True, eq=False)
class TermMap:
    """A term in a world: the model of `index`, the `map` of its points, the matrix `slope` (k, 3p) over them, and where
    they, or their frames, are when the world begins.
    """

    index: int
    map: Any
    slope: sparse.csr_matrix
    start: FloatArray
    rotation: bool

    @classmethod
    def of(cls, term: Term, models: Sequence[Model], count: int, what: str) -> TermMap:
        """`term` in `count` rows."""
        index, points = located(term, models, what)
        model = models[index]
        map = model.embed(points, what=what, reach=term.reach, placed=True)
        q = model.initial()[0]
        own = np.zeros((count, len(points)))
        if term.pick == "mean":
            own[:] = 1.0 / len(points)
        elif len(points) == 1:
            own[:] = 1.0
        else:
            own[:] = np.eye(count)
        slope = sparse.csr_matrix(np.kron(own, np.asarray(term.coefficient, float)))
        return cls(index, map, slope, (map.frames(q) if term.rotation else map.points(q)).copy(), term.rotation)

    def value(self, q: FloatArray) -> FloatArray:
        """What the term adds to each row, (k,), m or rad."""
        moved = self._angles(q) if self.rotation else self.map.points(q) - self.start
        return np.asarray(self.slope @ moved.ravel())

    def gradient(self, q: FloatArray) -> sparse.csr_matrix:
        """Its rows (k, unknowns) over the unknowns of the model."""
        if not self.rotation:
            rows: sparse.csr_matrix = self.map.pull_back(q, self.slope)
            return rows
        blocks = sparse.block_diag([inverse_left_jacobian(angle) for angle in self._angles(q)], format="csr")
        turned: sparse.csr_matrix = self.map.pull_back_spins(q, sparse.csr_matrix(self.slope @ blocks))
        return turned

    def _angles(self, q: FloatArray) -> FloatArray:
        turned = np.einsum("pri,psi->prs", self.map.frames(q), self.start)
        return np.array([rotation_log(R) for R in turned])


@dataclass(frozen=True, eq=False)
class LinearRows(Constraint):
    """The rows of a linear constraint in a world."""

    spec: LinearConstraint
    terms: tuple[TermMap, ...]
    key: int
    count: int

    prescribes: ClassVar[bool] = True

    @classmethod
    def build(cls, spec: LinearConstraint, models: Sequence[Model], key: int) -> LinearRows:
        """The rows of `spec` in a world of `models`."""
        sizes = [1 if term.pick == "mean" else len(located(term, models, repr(spec.name))[1]) for term in spec.terms]
        count = max(sizes)
        wrong = [size for size in sizes if size not in (1, count)]
        if wrong:
            raise InputError(
                f"terms of {spec.name!r} have {wrong[0]} and {count} points; they must have as many, or one "
                "(pick='first' or 'mean')"
            )
        what = f"points of {spec.name!r}"
        return cls(spec, tuple(TermMap.of(term, models, count, what) for term in spec.terms), key, count)

    def constrains(self, index: int) -> bool:
        """Whether body `index` has a term."""
        return any(term.index == index for term in self.terms)

    def displacement(self, q: Sequence[FloatArray]) -> float:
        """The sum of the terms of the first row, m or rad."""
        return float(self._sum(q)[0])

    def rows(self, view: RowView, found: Any = None) -> tuple[Rows, None]:
        """The sums of the terms, and their gradients."""
        H = view.blank(self.count)
        for term in self.terms:
            H[term.index] = H[term.index] + term.gradient(view.q[term.index])
        command = view.controls.get(self.spec)
        target = self.spec.value if command is None else command.amount
        return Rows.of(H, self._sum(view.q) - target, RowLaw.BILATERAL, key=self._keys), None

    def rates(self, view: RowView, rows: Rows, memory: Any) -> FloatArray:
        """The mean rate over the step, which the value prescribes."""
        total: FloatArray = np.zeros(rows.count)
        for h, moved in zip(rows.H, view.moved, strict=True):
            total += h @ np.ravel(moved)
        return total / view.dt

    def _sum(self, q: Sequence[FloatArray]) -> FloatArray:
        return np.asarray(sum(term.value(q[term.index]) for term in self.terms))

    @cached_property
    def _keys(self) -> IndexArray:
        return row_keys(LINEAR, self.key, self.count)

    @property
    def direction_models(self) -> tuple[int, ...]:
        """Indices of the models whose points turn with them."""
        return tuple({term.index for term in self.terms if term.rotation or not term.map.is_linear})

    @property
    def stiff_models(self) -> tuple[int, ...]:
        """Indices of the rods whose points are displaced."""
        return tuple({term.index for term in self.terms if term.map.forces_stiffen and not term.rotation})

    @property
    def stiff_keys(self) -> IndexArray:
        """Identities of the rows."""
        return self._keys

    def stiffness(self, q: Sequence[FloatArray], lam: FloatArray, scale: float) -> Stiffnesses:
        """`scale` × (−λ ∂²δ/∂q²) of rods, whose points are nonlinear in the strains."""
        for term in self.terms:
            if term.map.forces_stiffen and not term.rotation and lam.any():
                forces = np.asarray(term.slope.T @ lam).reshape(-1, 3)
                yield term.index, MatrixStiffness(scale * term.map.load_stiffness(q[term.index], forces))


def located(term: Term, models: Sequence[Model], what: str) -> tuple[int, FloatArray]:
    """Index of the model of a term, and where its points stand when the world begins, (p, 3), m."""
    index = model_index(models, term.body)
    model, body = models[index], term.body
    if term.points is not None:
        points = np.atleast_2d(np.asarray(term.points, float))
    elif body.slender:
        points = model.node_positions(model.initial()[0])[body.selected(term.region, what=what)]
    elif hasattr(body, "mesh") and not callable(body.mesh):
        points = model.initial()[0][as_region(term.region, what=what).nodes(body.mesh.points, what=what)]
    else:
        raise InputError(f"a region selects nodes of a volume, a beam or a rod; {body.name!r} is none: give points")
    chosen = {"first": slice(0, 1), "rest": slice(1, None)}.get(term.pick, slice(None))
    points = points[chosen]
    if not len(points):
        raise InputError(f"{what}: a Term on {body.name!r} has no points; a region needs two nodes or more here")
    return index, np.ascontiguousarray(points)


def inverse_left_jacobian(angle: FloatArray) -> FloatArray:
    """d log(R)/d spin (3, 3) at the rotation vector `angle` (3,), rad: I − ½[φ]× + c [φ]×²."""
    size2 = float(angle @ angle)
    size = np.sqrt(size2)
    c = 1.0 / 12.0 + size2 / 720.0 if size < 1e-2 else 1.0 / size2 - 0.5 / (size * np.tan(0.5 * size))
    K = cross_matrix(angle)
    return np.asarray(np.eye(3) - 0.5 * K + c * (K @ K))
