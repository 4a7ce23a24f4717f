"""Lanes to cells: eight cells that were computed side by side are added to memory one by one.

Results lie by lanes, entry k of lane n at 8 k + n, and are added to blocks in which the entries of one cell stand side
by side. Compilers do that number by number, which took half the time of an assembly. Here eight entries of eight lanes
are transposed in registers, by three stages that exchange every other one, two and four entries.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from pliant.core.kernels import inline
from pliant.core.types import FloatArray

_WIDTH = 8
_EIGHT = ir.VectorType(ir.DoubleType(), _WIDTH)
_STAGES = (
    (1, (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15)),
    (2, (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)),
    (4, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15)),
)
"""Distance of the rows that a stage exchanges, and which of their sixteen entries each of them gets."""


@inline
def by_cell(S: FloatArray, source: int, target: int, stride: int) -> None:
    """S[target + stride n + k] := S[source + 8 k + n] for eight entries k of eight lanes n."""
    _transpose(S, source, target, stride)


@inline
def add_eight(into: FloatArray, to: int, S: FloatArray, source: int) -> None:
    """The eight entries of `into`, as it lies in memory, from `to` on += those of S from `source` on."""
    _add(into, to, S, source)


def _place(context: Any, builder: Any, kind: Any, array: Any, offset: Any) -> Any:
    """Pointer to the eight numbers of a contiguous array from `offset` on."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), _EIGHT.as_pointer())


@intrinsic
def _transpose(context: Any, S: Any, source: Any, target: Any, stride: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        array, source, target, stride = given
        kind, word = signature.args[0], ir.IntType(64)

        def row(start: Any, step: Any) -> Any:
            return _place(context, builder, kind, array, builder.add(start, step))

        def mixed(one: Any, other: Any, order: Any) -> Any:
            return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), _WIDTH), order))

        rows = [builder.load(row(source, word(_WIDTH * k)), align=8) for k in range(_WIDTH)]
        for distance, low, high in _STAGES:
            for k in range(_WIDTH):
                if not k & distance:
                    one, other = rows[k], rows[k + distance]
                    rows[k], rows[k + distance] = mixed(one, other, low), mixed(one, other, high)
        for n in range(_WIDTH):
            builder.store(rows[n], row(target, builder.mul(stride, word(n))), align=8)
        return context.get_dummy_value()

    return types.void(S, types.intp, types.intp, types.intp), generate


@intrinsic
def _add(context: Any, into: Any, to: Any, S: Any, source: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        sums = _place(context, builder, signature.args[0], given[0], given[1])
        more = _place(context, builder, signature.args[2], given[2], given[3])
        total = builder.fadd(builder.load(sums, align=8), builder.load(more, align=8))
        builder.store(total, sums, align=8)
        return context.get_dummy_value()

    return types.void(into, types.intp, S, types.intp), generate
