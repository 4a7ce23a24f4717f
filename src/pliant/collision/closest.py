"""Closest points of a point and a triangle, and of two segments, as scalars for kernels.

Reference: C. Ericson, "Real-Time Collision Detection", 2005, sections 5.1.5 and 5.1.9. Both return parameters, not
points: weights make the rows of a contact. A parameter on the border of a triangle or at the end of a segment is
exactly 0 or 1, so that callers read the region from it.
"""

from __future__ import annotations

from pliant.core.kernels import inline
from pliant.core.types import FloatArray

_SLIVER = 1e-13
"""A triangle counts as without area below this sin² of its angle."""
PARALLEL = 1e-4
"""Two segments count as parallel below this sin² of their angle: 0.6 degrees."""


@inline
def triangle_weights(x: FloatArray, p: int, y: FloatArray, a: int, b: int, c: int) -> tuple[float, float, float]:
    """Weights (v, w) of corners b and c at the point of triangle y[a], y[b], y[c] nearest to x[p], and distance² (m²).

    The weight of a is 1 − v − w. A triangle without area is treated as its longest side.
    """
    ab0, ab1, ab2 = y[b, 0] - y[a, 0], y[b, 1] - y[a, 1], y[b, 2] - y[a, 2]
    ac0, ac1, ac2 = y[c, 0] - y[a, 0], y[c, 1] - y[a, 1], y[c, 2] - y[a, 2]
    ap0, ap1, ap2 = x[p, 0] - y[a, 0], x[p, 1] - y[a, 1], x[p, 2] - y[a, 2]
    uu, uv, vv = dot(ab0, ab1, ab2, ab0, ab1, ab2), dot(ab0, ab1, ab2, ac0, ac1, ac2), dot(ac0, ac1, ac2, ac0, ac1, ac2)
    d1, d2 = dot(ab0, ab1, ab2, ap0, ap1, ap2), dot(ac0, ac1, ac2, ap0, ap1, ap2)
    d3, d4, d5, d6 = d1 - uu, d2 - uv, d1 - uv, d2 - vv
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    if uu * vv - uv * uv <= _SLIVER * uu * vv:
        v, w = _weights_on_longest_side(uu, vv, uu + vv - 2.0 * uv, d1, d2)
    elif d1 <= 0.0 and d2 <= 0.0:
        v, w = 0.0, 0.0
    elif d3 >= 0.0 and d4 <= d3:
        v, w = 1.0, 0.0
    elif d6 >= 0.0 and d5 <= d6:
        v, w = 0.0, 1.0
    elif vc <= 0.0 and d1 > 0.0 and d3 < 0.0:
        v, w = d1 / uu, 0.0
    elif vb <= 0.0 and d2 > 0.0 and d6 < 0.0:
        v, w = 0.0, d2 / vv
    elif va <= 0.0 and d4 > d3 and d5 > d6:
        w = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        v = 1.0 - w
    else:
        v, w = vb / (va + vb + vc), vc / (va + vb + vc)
    r0, r1, r2 = ap0 - v * ab0 - w * ac0, ap1 - v * ab1 - w * ac1, ap2 - v * ab2 - w * ac2
    return v, w, r0 * r0 + r1 * r1 + r2 * r2


@inline
def _weights_on_longest_side(ab: float, ac: float, bc: float, d1: float, d2: float) -> tuple[float, float]:
    """Weights (v, w) at the nearest point of the longest side, from squared lengths, d1 = ab·ap and d2 = ac·ap."""
    v, w = 0.0, 0.0
    if ab >= ac and ab >= bc:
        v = clamp(d1 / ab) if ab > 0.0 else 0.0
    elif ac >= bc:
        w = clamp(d2 / ac)
    else:
        # bc·bp = (ac − ab)·(ap − ab), with ab·ac = (ab² + ac² − bc²) / 2
        w = clamp((d2 - d1 + ab - 0.5 * (ab + ac - bc)) / bc)
        v = 1.0 - w
    return v, w


@inline
def segment_parameters(
    x: FloatArray, a: int, b: int, y: FloatArray, c: int, d: int
) -> tuple[float, float, float, float]:
    """Parameters (s, t) of the nearest points x[a] + s (x[b] − x[a]) and y[c] + t (y[d] − y[c]), distance² (m²), sin².

    Segments without length and parallel ones are allowed; the last number is sin² of the angle (0 without length).
    """
    u0, u1, u2 = x[b, 0] - x[a, 0], x[b, 1] - x[a, 1], x[b, 2] - x[a, 2]
    v0, v1, v2 = y[d, 0] - y[c, 0], y[d, 1] - y[c, 1], y[d, 2] - y[c, 2]
    r0, r1, r2 = x[a, 0] - y[c, 0], x[a, 1] - y[c, 1], x[a, 2] - y[c, 2]
    uu, vv, uv = dot(u0, u1, u2, u0, u1, u2), dot(v0, v1, v2, v0, v1, v2), dot(u0, u1, u2, v0, v1, v2)
    ur, vr = dot(u0, u1, u2, r0, r1, r2), dot(v0, v1, v2, r0, r1, r2)
    determinant = uu * vv - uv * uv
    sine = determinant / (uu * vv) if uu > 0.0 and vv > 0.0 else 0.0
    s = clamp((uv * vr - ur * vv) / determinant) if sine > 1e-12 else 0.0  # parallel within 1e-6 rad
    t = (uv * s + vr) / vv if vv > 0.0 else 0.0
    if t < 0.0 or t > 1.0 or sine <= 1e-12 or vv <= 0.0:
        t = clamp(t)
        s = clamp((uv * t - ur) / uu) if uu > 0.0 else 0.0
    if sine <= 1e-12 and vv > 0.0:
        t = clamp((uv * s + vr) / vv)
    e0, e1, e2 = r0 + s * u0 - t * v0, r1 + s * u1 - t * v1, r2 + s * u2 - t * v2
    return s, t, e0 * e0 + e1 * e1 + e2 * e2, sine


@inline
def may_cross(x: FloatArray, i: int, j: int, y: FloatArray, k: int, m: int, margin: float) -> int:
    """0 where the nearest points of the lines through x[i], x[j] and y[k], y[m] are certainly outside these segments or
    farther apart than `margin` (m), else 1, without branches.
    """
    u0, u1, u2 = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    v0, v1, v2 = y[m, 0] - y[k, 0], y[m, 1] - y[k, 1], y[m, 2] - y[k, 2]
    r0, r1, r2 = x[i, 0] - y[k, 0], x[i, 1] - y[k, 1], x[i, 2] - y[k, 2]
    uu, vv, uv = dot(u0, u1, u2, u0, u1, u2), dot(v0, v1, v2, v0, v1, v2), dot(u0, u1, u2, v0, v1, v2)
    ur, vr = dot(u0, u1, u2, r0, r1, r2), dot(v0, v1, v2, r0, r1, r2)
    determinant = uu * vv - uv * uv
    s, t = uv * vr - ur * vv, uu * vr - uv * ur
    volume = dot(u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0, r0, r1, r2)
    inside = (s >= 0.0) & (s <= determinant) & (t >= 0.0) & (t <= determinant)
    # |u × v|² is the determinant, to 1e-11 of it where the segments are not `PARALLEL`
    return int(inside & (volume * volume <= (1.0 + 1e-6) * margin * margin * determinant))


@inline
def clamp(value: float) -> float:
    """`value` limited to [0, 1]."""
    return min(1.0, max(0.0, value))


@inline
def dot(a0: float, a1: float, a2: float, b0: float, b1: float, b2: float) -> float:
    """Scalar product of two vectors."""
    return a0 * b0 + a1 * b1 + a2 * b2
