"""Random and degenerate friction problems for the contact solvers, and a check of their laws that shares no code with
them.

`problem(kind, seed)` gives the same problem whenever it is asked for. `violation` says Signorini's and Coulomb's laws
contact by contact, without cones or projections. `python tests/friction_survey.py` solves them by the thousand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pliant.solvers.contact import Law, MixedProblem


class FrictionProblem(NamedTuple):
    """u = W r + q with friction mu (n,), three rows a contact; `solvable` where a solution is known to exist."""

    W: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    solvable: bool


def _frames(rng: np.random.Generator, normals: np.ndarray) -> np.ndarray:
    """(n, 3, 3) rows normal, tangent, tangent; the tangents turned at random."""
    spin = rng.normal(size=normals.shape)
    first = np.cross(normals, spin)
    first /= np.linalg.norm(first, axis=1)[:, None]
    return np.stack([normals, first, np.cross(normals, first)], axis=1)


def _rigid_rows(rng: np.random.Generator, bodies: int, contacts: int, tilt: float) -> np.ndarray:
    """H (3 contacts, 6 bodies) of contacts between bodies and with the ground."""
    centres = rng.uniform(0.0, bodies ** (1 / 3), size=(bodies, 3))
    H = np.zeros((3 * contacts, 6 * bodies))
    one, other = rng.integers(0, bodies, contacts), rng.integers(-1, bodies, contacts)
    other[other == one] = -1
    normals = np.where(other[:, None] >= 0, centres[one] - centres[other], [0.0, 0.0, 1.0])
    normals = normals / np.linalg.norm(normals, axis=1)[:, None] + tilt * rng.normal(size=(contacts, 3))
    frames = _frames(rng, normals / np.linalg.norm(normals, axis=1)[:, None])
    for c in range(contacts):
        point = centres[one[c]] + rng.normal(size=3) * 0.5
        for sign, body in ((1.0, one[c]), (-1.0, other[c])):
            if body >= 0:
                arm = point - centres[body]
                cross = np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
                rows = sign * np.hstack([frames[c], -frames[c] @ cross])
                H[3 * c : 3 * c + 3, 6 * body : 6 * body + 6] += rows
    return H


def _soft_rows(rng: np.random.Generator, contacts: int) -> np.ndarray:
    """H of contacts on a soft surface: neighbours move nearly alike, so rows nearly depend on each other."""
    places = rng.uniform(size=(contacts, 2))
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    kernel = np.exp(-((distance / rng.uniform(0.1, 0.6)) ** 2)) + 1e-9 * np.eye(contacts)
    L = np.linalg.cholesky(kernel)
    frames = _frames(rng, np.tile([0.0, 0.0, 1.0], (contacts, 1)) + 0.1 * rng.normal(size=(contacts, 3)))
    frames /= np.linalg.norm(frames, axis=2)[:, :, None]
    return np.einsum("cij,ck->cikj", frames, L).reshape(3 * contacts, 3 * contacts)


def _compliance(rng: np.random.Generator, kind: str) -> np.ndarray:
    """H with W = H Hᵀ."""
    contacts = int(rng.integers(1, 25))
    if kind == "few freedoms":
        return rng.normal(size=(3 * int(rng.integers(1, 6)), int(rng.integers(1, 4))))
    if kind == "rigid heap":
        return _rigid_rows(rng, int(rng.integers(1, 8)), contacts, rng.choice([0.0, 0.2]))
    if kind == "wedged heap":
        return _rigid_rows(rng, int(rng.integers(2, 8)), contacts, 1.0)
    if kind == "soft":
        return _soft_rows(rng, contacts)
    if kind == "soft and rigid":
        heap = _rigid_rows(rng, int(rng.integers(1, 4)), contacts, 0.2)
        return np.hstack([10 ** rng.uniform(-2, 1) * _soft_rows(rng, contacts), heap])
    if kind == "duplicates":
        H = _rigid_rows(rng, int(rng.integers(1, 5)), contacts, 0.2)
        again = np.repeat(H.reshape(contacts, 3, -1), int(rng.integers(2, 4)), axis=0)
        return again.reshape(-1, H.shape[1])
    m = 3 * contacts
    return rng.normal(size=(m, m)) / np.sqrt(m)  # regular


KINDS = ("regular", "few freedoms", "rigid heap", "wedged heap", "soft", "soft and rigid", "duplicates", "impossible")


def problem(kind: str, seed: int) -> FrictionProblem:
    """Problem `seed` of a kind, in units between nanometres and kilometres, micro- and meganewtons."""
    rng = np.random.default_rng([KINDS.index(kind), seed])
    H = _rigid_rows(rng, 1, int(rng.integers(4, 12)), 1.0) if kind == "impossible" else _compliance(rng, kind)
    contacts = len(H) // 3
    style = rng.integers(0, 3)
    mu = [
        np.full(contacts, rng.choice([0.0, 0.3, 1.0])), rng.uniform(0.0, 2.0, contacts),
        rng.choice([0.0, 0.1, 0.6, 2.0], contacts),
    ][style]  # fmt: skip
    q = H @ (rng.normal(size=H.shape[1]) * rng.choice([0.1, 1.0]) - 0.3 * H[::3].sum(axis=0) / contacts)
    if kind == "impossible":  # a part of q that no motion makes
        q = q + rng.normal(size=len(q))
    elif rng.random() < 0.2:  # nearly redundant contacts that differ in their gaps
        q[::3] += 10 ** rng.uniform(-12, -4) * rng.random(contacts)
    length, force = 10 ** rng.uniform(-9, 3), 10 ** rng.uniform(-6, 6)
    return FrictionProblem(H @ H.T * (length / force), q * length, mu, kind not in ("impossible", "few freedoms"))


def mixed(kind: str, seed: int) -> MixedProblem:
    """A problem of a kind with bilateral and bounded rows and an imposed force among its contacts."""
    p = problem(kind, seed)
    rng = np.random.default_rng([99, seed])
    extra = int(rng.integers(1, 5))
    H = np.linalg.cholesky(p.W + 1e-12 * np.trace(p.W) * np.eye(len(p.q)))
    size = float(np.sqrt(p.W.diagonal().mean())) or 1.0
    columns = len(p.q) + extra  # freedoms of their own for the other rows, so that none contradicts the contacts
    others = rng.normal(size=(extra, columns)) * size / np.sqrt(columns)
    rows = np.vstack([others, np.hstack([H, np.zeros((len(p.q), extra))])])
    law = rng.choice([Law.BILATERAL, Law.BOUNDED, Law.SIGNORINI, Law.IMPOSED], extra)
    push = float(np.abs(p.q).max()) / size**2
    lower, upper = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    lower[:extra], upper[:extra] = -push * rng.random(extra), push * rng.random(extra)
    target = np.zeros(len(rows))
    target[:extra] = np.where(law == Law.IMPOSED, push * rng.normal(size=extra), 0.0)
    return MixedProblem.of(
        rows @ rows.T, np.concatenate([rng.normal(size=extra) * np.abs(p.q).max(), p.q]),
        np.concatenate([law, np.full(len(p.q), Law.COULOMB)]), mu=np.concatenate([np.zeros(extra), np.repeat(p.mu, 3)]),
        lower=lower, upper=upper, target=target,
    )  # fmt: skip


def violation(W: np.ndarray, q: np.ndarray, mu: np.ndarray, r: np.ndarray) -> float:
    """The largest violation of a law by forces r, relative to the largest q and to the forces that q takes."""
    u, f = (W @ r + q).reshape(-1, 3), r.reshape(-1, 3)
    slip = float(np.abs(q).max()) or 1.0
    force = max(float(np.abs(r).max()), slip / float(W.diagonal().max()))
    sliding, friction = np.linalg.norm(u[:, 1:], axis=1), np.linalg.norm(f[:, 1:], axis=1)
    opposed = sliding[:, None] * f[:, 1:] + (mu * f[:, 0])[:, None] * u[:, 1:]  # 0 where it sticks and where it slides
    return max(
        float(-u[:, 0].min()) / slip,
        float(-f[:, 0].min()) / force,
        float(np.abs(u[:, 0] * f[:, 0]).max()) / (slip * force),
        float((friction - mu * f[:, 0]).max()) / force,
        float(np.linalg.norm(opposed, axis=1).max()) / (slip * force * (1.0 + float(mu.max()))),
        0.0,
    )
