"""The precision in which JAX computes, for a part of a program and whatever the rest of it has chosen."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import jax


def in_double(wide: bool = True) -> AbstractContextManager[Any]:
    """Within it JAX has double precision if `wide`, else single."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(wide)  # type: ignore[no-any-return]
    from jax.experimental import enable_x64  # its place in older versions

    return enable_x64(wide)  # type: ignore[no-any-return]
