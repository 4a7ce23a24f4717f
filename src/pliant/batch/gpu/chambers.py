"""Chambers of a volume in all copies: the growth of their volumes and its gradient.

The twin of `actuators.cavity`: δ = V − V₀ with V = −(1/3) ∮ x·n da, H = ∂V/∂q = −∮ N n da. Rows are scaled by the area
S of a chamber at rest, δ/S in m and S λ in N, so that they stand beside contacts and cables. Their stiffness is that of
a stress, which the tangent of one linear solve leaves out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from pliant.batch.gpu.arrays import Array, Chambers
from pliant.batch.gpu.cables import PRECISE
from pliant.batch.gpu.elements import summed
from pliant.batch.gpu.rod_sweep import cross, dot


class Growth(NamedTuple):
    """Growth (c, b) m of the volumes over the areas at rest, and its gradient by the points (s, 3, b)."""

    growth: Array
    slope: Array


def grow(own: Chambers, moved: Array) -> Growth:
    """The chambers whose points have `moved` (s, 3, b), m."""
    dtype, width = moved.dtype, own.facets.shape[1]
    facets, chamber = jnp.asarray(own.facets), jnp.asarray(own.chamber)
    rest = jnp.asarray(own.rest, dtype)[facets][..., None]  # (f, k, 3, 1)
    ends = [moved[facets[:, a]] for a in range(width)]
    scale = (1.0 / jnp.asarray(own.area, dtype))[chamber][:, None]
    swept: Any = 0.0
    pushes: list[Any] = [0.0] * width
    for N, slopes, weight in zip(own.shape, own.slopes, own.weights, strict=True):
        x, d = _mixed(N, [rest[:, a] for a in range(width)]), _mixed(N, ends)
        a0, b0 = (_mixed(slopes[:, s], [rest[:, a] for a in range(width)]) for s in range(2))
        da, db = (_mixed(slopes[:, s], ends) for s in range(2))
        a, b = ([p + q for p, q in zip(*pair, strict=True)] for pair in ((a0, da), (b0, db)))
        normal = cross(a, b)
        turned = [p + q for p, q in zip(cross(da, b), cross(a0, db), strict=True)]  # its change, to all digits
        factor = -weight.astype(dtype) * scale
        swept = swept + factor / 3.0 * (dot(d, normal) + dot(x, turned))
        push = jnp.stack([factor * one for one in normal], 1)
        pushes = [made + N[a].astype(dtype) * push for a, made in enumerate(pushes)]
    member = (chamber[None, :] == jnp.arange(len(own.area))[:, None]).astype(dtype)
    growth = jnp.einsum("cf,fb->cb", member, swept, precision=PRECISE)
    entries = jnp.concatenate(pushes)
    return Growth(growth, summed(summed(entries, own.sums.first), own.sums.second))


def _mixed(factors: Array, vectors: list[Array]) -> list[Array]:
    """Σ factors × vectors (f, 3, ·), three arrays (f, ·)."""
    dtype = vectors[0].dtype
    return [sum(factor.astype(dtype) * one[:, i] for factor, one in zip(factors, vectors, strict=True))
            for i in range(3)]  # fmt: skip
