"""Supports: nodes whose positions, and rotations, are prescribed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.core.checks import finite_array
from pliant.core.declared import check_declared
from pliant.core.errors import InputError
from pliant.core.one_line import one_line
from pliant.core.types import FloatArray


@one_line
@dataclass(frozen=True, eq=False)
class Support:
    """Nodes of `region` constrained along `axes` ("x", "yz", "xyz"…) at `displacement` (m, one value or one per axis).

    A roller is ``Support(body, region, axes="z")``. As a control: a new displacement from the rest shape.

    A `rotation`, a rotation vector (3,) rad from rest, turns the nodes of a volume about `center` (3,) m, which is the
    mean of their rest positions where it is None, before they are displaced: a base that is mounted on something that
    turns. All axes are then constrained, and `pl.Placement` is the control of displacement and rotation.

    Of a beam it constrains the frames of the nodes (with axes="" only these). Of a rod only node 0, its base, can be
    constrained. `region` may be a list of node indices.
    """

    body: Any
    region: Any
    axes: str = "xyz"
    displacement: Any = 0.0
    rotation: Any = None
    center: Any = None

    def __post_init__(self) -> None:
        check_declared(self)
        turns = self.rotation is not None
        if not (self.axes or turns) or set(self.axes) - set("xyz") or len(set(self.axes)) != len(self.axes):
            raise InputError(f"axes of a Support must be distinct letters of 'xyz', got {self.axes!r}")
        if turns and not self.body.has_frames and set(self.axes) != set("xyz"):
            raise InputError(
                f"a Support that turns nodes of {self.body.name!r} constrains all their axes: axes='xyz', "
                f"got {self.axes!r}"
            )
        if self.center is not None:
            finite_array("center of a Support", self.center, shape=(3,))
            if not turns or self.body.has_frames:
                raise InputError("center of a Support is for volumes that it turns: rotation=(0, 0, 0) at first")
        self.placement(None)

    @property
    def value(self) -> FloatArray:
        """Displacement along each of `axes`, m."""
        return self.checked(self.displacement)

    def checked(self, displacement: Any) -> FloatArray:
        """`displacement` as one value per axis, m."""
        array = finite_array("displacement of a Support", displacement)
        if array.shape not in ((), (len(self.axes),)):
            raise InputError(
                f"displacement of a Support must be one value or {len(self.axes)}, got shape {array.shape}"
            )
        return np.broadcast_to(array, (len(self.axes),)).copy()

    def placement(self, given: Any) -> tuple[FloatArray, FloatArray | None]:
        """Displacement along each of `axes` (m) and rotation vector (3,) rad, None where frames are free.

        `given` is a control: None, a displacement, or a pair of both.
        """
        rotation = None
        if self.rotation is not None:
            rotation = finite_array("rotation of a Support", self.rotation, shape=(3,))
        if given is None:
            return self.value, rotation
        return given if isinstance(given, tuple) else (given, rotation)

    @property
    def axis_indices(self) -> list[int]:
        """0, 1, 2 for x, y, z, in the order of `axes`."""
        return ["xyz".index(axis) for axis in self.axes]
