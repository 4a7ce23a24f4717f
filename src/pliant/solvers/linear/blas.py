"""BLAS called from inside kernels.

SciPy publishes the addresses of its own BLAS in `scipy.linalg.cython_blas`. Kernels get
them as *values* in a `Blas` tuple, so compiled code holds no address and can be cached on disk. Fortran routines take
every argument by pointer; integers and reals are therefore kept in small arrays that the caller owns. All matrices here
are column-major with leading dimension `ld`, named by the address of their first entry.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from scipy.linalg import cython_blas

from pliant.core.kernels import inline
from pliant.core.types import FloatArray, IndexArray, IntArray

_TRSM, _SYRK, _GEMM = range(3)
_REAL = 8  # bytes of a float64
STRIP = 24  # columns of a panel that are eliminated at once: few, so that most of the work is in products
TRIANGLE = 96  # columns of a triangle that BLAS solves at once: 5 to 13 % faster than 24 for 2 to 600 rows
_INT = 4  # bytes of a Fortran integer


class Blas(NamedTuple):
    """What a kernel needs to call BLAS: addresses, characters "LNRT", reals (1, −1, 0), and scratch integers."""

    addresses: IndexArray
    characters: Any
    reals: FloatArray
    integers: IntArray


def _address(module: Any, name: str) -> int:
    """The machine address of a routine that SciPy exports in a capsule."""
    capsule = module.__pyx_capi__[name]
    get_name, get_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get_pointer(capsule, get_name(capsule)))


_CHARACTERS = np.frombuffer(b"LNRT", np.uint8).copy()
_REALS = np.array([1.0, -1.0, 0.0])


@cache
def _addresses() -> IndexArray:
    """Addresses of the routines: as a constant they would change the hash of compiled code with each process."""
    return np.array([_address(cython_blas, name) for name in ("dtrsm", "dsyrk", "dgemm")], np.int64)


def blas_arrays() -> tuple[Any, ...]:
    """`blas` as a plain tuple, which Numba recognises in a fifth of the time."""
    return _addresses(), _CHARACTERS, _REALS, np.zeros(8, np.int32)


def blas() -> Blas:
    """A `Blas` with scratch of its own; one per kernel call, so that calls in several threads do not meet."""
    return Blas(_addresses(), _CHARACTERS, _REALS, np.zeros(8, np.int32))


@intrinsic
def _call(context: Any, address: Any, arguments: Any) -> Any:
    """Call the void routine at `address` with a tuple of addresses as its pointer arguments."""
    signature = types.void(address, arguments)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        routine_type = ir.FunctionType(ir.VoidType(), [pointer] * arguments.count)
        routine = builder.inttoptr(values[0], routine_type.as_pointer())
        given = [builder.inttoptr(builder.extract_value(values[1], i), pointer) for i in range(arguments.count)]
        builder.call(routine, given)
        return context.get_dummy_value()

    return signature, generate


@inline
def address(array: Any) -> int:
    """Address of the first entry of an array, as a signed integer so that offsets can be added."""
    return np.int64(array.ctypes.data)  # type: ignore[return-value]


@inline
def _solve_right_strip(
    lib: Blas, m: int, n: int, triangle: int, ld_triangle: int, x: int, ld: int, transposed: bool
) -> None:
    """X ← X L⁻ᵀ (transposed) or X L⁻¹, for X of m × n and L lower triangular of n × n."""
    lib.integers[0] = m
    lib.integers[1] = n
    lib.integers[2] = ld_triangle
    lib.integers[3] = ld
    i = address(lib.integers)
    c = address(lib.characters)
    one = address(lib.reals)
    turn = c + 3 if transposed else c + 1
    _call(lib.addresses[_TRSM], (c + 2, c, turn, c + 1, i, i + _INT, one, triangle, i + 2 * _INT, x, i + 3 * _INT))


@inline
def symmetric_update(lib: Blas, n: int, k: int, a: int, ld_a: int, c: int, ld_c: int, sign: int, keep: bool) -> None:
    """C ← ± A Aᵀ (+ C when `keep`), lower triangle, for A of n × k; sign 0 is plus and 1 is minus."""
    lib.integers[0] = n
    lib.integers[1] = k
    lib.integers[2] = ld_a
    lib.integers[3] = ld_c
    i = address(lib.integers)
    t = address(lib.characters)
    one = address(lib.reals)
    beta = one if keep else one + 2 * _REAL
    _call(lib.addresses[_SYRK], (t, t + 1, i, i + _INT, one + sign * _REAL, a, i + 2 * _INT, beta, c, i + 3 * _INT))


@inline
def subtract_product(
    lib: Blas, m: int, n: int, k: int, a: int, ld_a: int, b: int, ld_b: int, transposed: bool, c: int, ld_c: int
) -> None:
    """C ← C − A op(B) for A of m × k and op(B) of k × n; op transposes when `transposed`."""
    lib.integers[0] = m
    lib.integers[1] = n
    lib.integers[2] = k
    lib.integers[3] = ld_a
    lib.integers[4] = ld_b
    lib.integers[5] = ld_c
    i = address(lib.integers)
    t = address(lib.characters)
    one = address(lib.reals)
    turn = t + 3 if transposed else t + 1
    _call(
        lib.addresses[_GEMM],
        (t + 1, turn, i, i + _INT, i + 2 * _INT, one + _REAL, a, i + 3 * _INT, b, i + 4 * _INT, one, c, i + 5 * _INT),
    )


@inline
def solve_right(lib: Blas, m: int, n: int, triangle: int, ld_triangle: int, x: int, ld: int, transposed: bool) -> None:
    """X ← X L⁻ᵀ (transposed) or X L⁻¹, for X of m × n and L lower triangular of n × n.

    Strips of columns that meet through matrix products: BLAS's own solve runs at half the speed of its product; narrow
    strips make narrow products, which are slow as well.
    """
    strips = (n + TRIANGLE - 1) // TRIANGLE
    for step in range(strips):
        j = TRIANGLE * (step if transposed else strips - 1 - step)
        count = min(TRIANGLE, n - j)
        mine = x + _REAL * j * ld
        corner = triangle + _REAL * (j * ld_triangle + j)
        if transposed and j > 0:
            row = triangle + _REAL * j
            subtract_product(lib, m, count, j, x, ld, row, ld_triangle, True, mine, ld)
        elif not transposed and j + count < n:
            rest = x + _REAL * (j + count) * ld
            subtract_product(
                lib, m, count, n - j - count, rest, ld, corner + _REAL * count, ld_triangle, False, mine, ld
            )
        _solve_right_strip(lib, m, count, corner, ld_triangle, mine, ld, transposed)
