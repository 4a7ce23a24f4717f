"""BLAS pinned to one thread around factor and solve.

Two BLAS threads on a machine whose second core is busy are up to 30 times slower than one: small fronts spend their time
waiting for each other. Parallelism in Pliant is explicit, over bodies or copies, never hidden inside BLAS.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the body of a ``with`` block with every BLAS limited to one thread."""
    with _controller().limit(limits=1, user_api="blas"):
        yield
