"""Adjoints of bodies against central differences of the residual of their step.

A `step` has the start `q`, `v` and the `end` (n, 3), `motion(rng)`, a motion (n, 3) that the body may make, and
`trial(q, v, end)`, the step between any of them; `loose` is 0 where nodes are constrained.
"""

import numpy as np
import pytest
from scipy import sparse

H = 1e-7
"""Step of the differences, over motions of the order of one."""


def check_adjoint(step, adjoint, residual):
    """`residual(q, v, end)` is −R: its changes by the start and the end are those of `adjoint`, and transposed."""
    q, v, end, rng = step.q, step.v, step.end, np.random.default_rng(7)
    dq, dv, de, w = (step.motion(rng) for _ in range(4))

    def slope(by_q, by_v, by_end):
        ahead, back = (residual(q + s * by_q, v + s * by_v, end + s * by_end) for s in (H, -H))
        return (ahead - back) / (2.0 * H)

    zero = np.zeros_like(q)
    by_start, by_end = slope(dq, dv, zero), slope(zero, zero, de)
    columns = [np.stack([each.ravel(), zero.ravel()], axis=1) for each in (dq, dv)]
    started = adjoint.started(*columns)
    size = np.abs(by_start).max()
    np.testing.assert_allclose(step.loose * started[:, 0].reshape(q.shape), by_start, atol=1e-6 * size)
    np.testing.assert_array_equal(started[:, 1], 0.0)
    to_q, to_v = adjoint.start(w)
    assert (to_q * dq).sum() == pytest.approx((w * slope(dq, zero, zero)).sum(), rel=1e-5, abs=1e-6 * size)
    assert (to_v * dv).sum() == pytest.approx((w * slope(zero, dv, zero)).sum(), rel=1e-5, abs=1e-8 * size)
    beside = adjoint.rest_along(de)
    force = -by_end - (0.0 if beside is None else beside)
    known, own = np.stack([force.ravel(), zero.ravel()], axis=1), sparse.csr_matrix(w.reshape(1, -1))
    answer = adjoint.solve_columns(known)
    np.testing.assert_allclose(answer[:, 0], de.ravel(), atol=1e-6 * np.abs(de).max())
    np.testing.assert_array_equal(answer[:, 1], 0.0)
    back = adjoint.solve(w)
    assert (back * force).sum() == pytest.approx((w * answer[:, 0].reshape(w.shape)).sum(), rel=1e-9)
    np.testing.assert_allclose(adjoint.solve_rows(own)[:, 0], back.ravel(), atol=1e-12 * np.abs(back).max())
    transposed = adjoint.rest(w)
    if transposed is not None:
        assert (transposed * de).sum() == pytest.approx((w * beside).sum(), rel=1e-9)
    check_velocity(step, adjoint)
    adjoint.release()


def check_velocity(step, adjoint):
    """Velocities at the end follow the end and the start as differences of them say, and transposed."""
    zero = np.zeros_like(step.q)
    rng = np.random.default_rng(8)
    dq, dv, de, g = (step.motion(rng) for _ in range(4))
    pulled = adjoint.velocity(g)
    ways = np.stack([zero.ravel(), de.ravel()], axis=1), np.stack([dq.ravel(), zero.ravel()], axis=1)
    ended = adjoint.ended(*ways, np.stack([dv.ravel(), zero.ravel()], axis=1))
    for k, (e, b, c) in enumerate(((zero, dq, dv), (de, zero, zero))):
        ahead, back = (step.trial(step.q + s * b, step.v + s * c, step.end + s * e).velocities() for s in (H, -H))
        change = (ahead - back) / (2.0 * H)
        size = np.abs(change).max()
        np.testing.assert_allclose(ended[:, k].reshape(zero.shape), change, atol=1e-6 * size)
        total = sum((each * way).sum() for each, way in zip(pulled[:3], (e, b, c), strict=True))
        assert total == pytest.approx((g * change).sum(), rel=1e-5, abs=1e-6 * size)
    assert not any(np.any(each) for each in adjoint.velocity(zero)[:3])
