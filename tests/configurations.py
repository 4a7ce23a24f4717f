"""Random and degenerate configurations of two solids, each as points (n, 3) m over outward triangles (t, 3).

A batch is two solids and c placements of the second: points (n, 3), triangles (t, 3), others (c, m, 3) and
other_triangles (s, 3). Sizes are 10 mm, as of a fingertip.
"""

from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from brute_force import surface_distance

SIZE = 0.01
"""m, about the size of each solid."""
NEAR = 1e-5
"""m, a near miss."""


class Batch(NamedTuple):
    """Placements of two solids."""

    name: str
    points: np.ndarray
    triangles: np.ndarray
    others: np.ndarray
    other_triangles: np.ndarray
    signed: np.ndarray | None = None
    """(c,) m, distance or, negative, depth of penetration, where it is known in closed form."""


def box(size=(SIZE, SIZE, SIZE), cells=(1, 1, 1)):
    """The surface of a box about the origin, each side in cells of two triangles."""
    index, triangles = {}, []

    def vertex(place):
        return index.setdefault(tuple(place), len(index))

    for axis, end in product(range(3), (0, 1)):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for i, j in product(range(cells[u]), range(cells[v])):
            corners = []
            for du, dv in ((0, 0), (1, 0), (1, 1), (0, 1)):
                place = [0, 0, 0]
                place[axis], place[u], place[v] = end * cells[axis], i + du, j + dv
                corners.append(vertex(place))
            p, q, r, s = corners if end else corners[::-1]
            triangles += [(p, q, r), (p, r, s)]
    return (np.array(list(index)) / cells - 0.5) * size, np.array(triangles)


def hull(points):
    """The convex hull of points."""
    found = ConvexHull(points)
    used, triangles = np.unique(found.simplices, return_inverse=True)
    triangles, x = triangles.reshape(-1, 3), points[used]
    a, b, c = (x[triangles[:, k]] - x.mean(axis=0) for k in range(3))
    inward = np.einsum("ti,ti->t", a, np.cross(b, c)) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return x, triangles


def angle_bar():
    """A bar with the section of an L, which is not convex."""
    section = np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]) * 0.5 * SIZE
    points = np.vstack([np.column_stack([section, np.full(6, z)]) for z in (0.0, SIZE)])
    cap = np.array([(0, 1, 2), (0, 2, 3), (0, 3, 5), (3, 4, 5)])
    walls = [(i, (i + 1) % 6, 6 + (i + 1) % 6) for i in range(6)] + [(i, 6 + (i + 1) % 6, 6 + i) for i in range(6)]
    return points - points.mean(axis=0), np.vstack([cap[:, ::-1], 6 + cap, walls])


def solids(rng):
    """Solids by name, some of them random."""
    return {
        "box": box(),
        "fine box": box(cells=(2, 3, 2)),
        "slab": box((SIZE, 0.8 * SIZE, 0.1 * SIZE), (2, 2, 1)),
        "bar": box((2.0 * SIZE, 0.3 * SIZE, 0.4 * SIZE)),
        "tetrahedron": hull(SIZE * (np.eye(4)[:, :3] - 0.3)),
        "hull": hull(SIZE * rng.uniform(-0.6, 0.6, (14, 3))),
        "angle": angle_bar(),
    }


def random_batches(count, *, seed, convex=False):
    """About `count` random placements in batches of 50: near, touching, crossing; some are 10 µm from touching."""
    rng = np.random.default_rng(seed)
    for _ in range(-(-count // 50)):
        kinds = {name: s for name, s in solids(rng).items() if not (convex and name == "angle")}
        first, second = rng.choice(list(kinds), 2)
        (x, s), (y, t) = kinds[first], kinds[second]
        x = x @ Rotation.random(rng=rng).as_matrix().T
        y = np.einsum("ni,cji->cnj", y, Rotation.random(50, rng=rng).as_matrix())
        way = rng.normal(size=(50, 3))
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        reach = (x @ way.T).max(axis=0) - np.einsum("cni,ci->cn", y, way).min(axis=1)
        apart = 1.02 * reach * (1.0 - rng.choice([0.0, 0.1, 0.3], 50) * rng.uniform(size=50))
        y = y + apart[:, None, None] * way[:, None]
        near = slice(0, 20)
        for _ in range(6):  # towards each other, as far as is safe
            room = surface_distance(np.broadcast_to(x, (20, *x.shape)), s, y[near], t) - NEAR
            y[near] -= 0.98 * np.maximum(room, 0.0)[:, None, None] * way[near, None]
        yield Batch(f"{first} and {second}", x, s, y, t)


def degenerate_batches(count, *, seed):
    """About `count` aligned boxes in batches of 20: flush, coplanar, stacked, nested, corner to corner, edge to edge,
    overhanging, identical, and 10 µm from it.
    """
    rng = np.random.default_rng(seed)
    for _ in range(-(-count // 20)):
        sizes = SIZE * rng.choice([0.5, 1.0, 1.0, 2.0], (2, 3))
        (x, s), (y, t) = (box(size, rng.choice([1, 1, 2], 3)) for size in sizes)
        flush = 0.5 * (sizes[0] + sizes[1])
        steps = np.array([0.0, 0.0, 0.5, 1.0, 1.0, 1.0])
        offset = flush * rng.choice([-1.0, 1.0], (20, 3)) * rng.choice(steps, (20, 3))
        offset += rng.choice([0.0, 0.0, 0.0, NEAR, -NEAR], (20, 3))
        same = rng.uniform(size=(20, 3)) < 0.15  # sides in one plane
        offset = np.where(same, 0.5 * (sizes[0] - sizes[1]) * rng.choice([-1.0, 1.0], (20, 3)), offset)
        turn = Rotation.identity().as_matrix() if rng.uniform() < 0.7 else Rotation.random(rng=rng).as_matrix()
        signed = aligned_boxes(x, y + offset[:, None])
        yield Batch("boxes", x @ turn.T, s, (y + offset[:, None]) @ turn.T, t, signed)


def aligned_boxes(x, y):
    """Signed distance of boxes (n, 3) and (c, m, 3) along the axes, (c,): the largest gap along an axis where they
    overlap, else their distance.
    """
    gap = np.maximum(y.min(axis=1) - x.max(axis=0), x.min(axis=0) - y.max(axis=1))
    return np.where((gap < 0.0).all(axis=1), gap.max(axis=1), np.linalg.norm(np.maximum(gap, 0.0), axis=1))
