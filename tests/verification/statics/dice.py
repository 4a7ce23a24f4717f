"""What random scenes of parts are made of: random numbers, materials, meshes, tools and their motions."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pliant as pl

ANGLES = np.pi / 180.0


@dataclass
class Drawn:
    """A world, the controls of its one call and the time that passes in it, s; None where nothing moves by itself."""

    world: Any
    controls: dict[Any, Any] = field(default_factory=dict)
    dt: float | None = None


class Dice:
    """Random numbers of one scene, and the scene."""

    def __init__(self, seed: int, kind: str, gravity=(0.0, 0.0, 0.0)):
        self.rng = np.random.default_rng([seed, 977, sum(map(ord, kind))])
        self.scene = pl.Scene(gravity=gravity)

    def among(self, *options):
        return options[int(self.rng.integers(len(options)))]

    def between(self, low, high):
        return float(self.rng.uniform(low, high))

    def rubber(self, young=2e5, most=0.499, density=1e3):
        """A material; ν is often near 1/2."""
        poisson = self.among(*(nu for nu in (0.0, 0.2, 0.35, 0.45, 0.48, 0.49, 0.499) if nu <= most))
        return pl.materials.NeoHookean(young=young * 10 ** self.between(-0.4, 0.4), poisson=poisson, density=density)

    def friction(self, least=0.0):
        return self.among(*(mu for mu in (0.0, 0.0, 0.05, 0.2, 0.4, 0.7, 1.0) if mu >= least))

    def element(self):
        return self.among("hex8", "hex8", "tet4", "tet10")

    def box(self, size, cells, at=(0, 0, 0), *, element=None, material=None, **options):
        element = element or self.element()
        if element == "tet10":
            cells = tuple(max(1, round(0.6 * n)) for n in cells)
        mesh = pl.mesh.box(size, cells, element=element).translated(at)
        return self.scene.add(pl.Volume(mesh, material or self.rubber(), **options))

    def volume(self, mesh, material=None, **options):
        return self.scene.add(pl.Volume(mesh, material or self.rubber(), **options))

    def obstacle(self, made):
        return self.scene.add(made)


def base(at=0.0, axis="z"):
    return pl.regions.plane(axis=axis, at=at)


def going(*vector, until=1.0):
    """A motion that is over at `until`."""
    return lambda t: (tuple(min(t / until, 1.0) * np.asarray(vector, float)), (0.0, 0.0, 0.0))


def solid_of_revolution(profile, count):
    """A closed surface from radii and heights (k, 2) m, from the lower pole to the upper one, around z."""
    angle = 2.0 * np.pi * np.arange(count) / count
    rings = [np.column_stack([r * np.cos(angle), r * np.sin(angle), np.full(count, z)]) for r, z in profile]
    points = np.vstack([*rings, [[0.0, 0.0, profile[0][1]]], [[0.0, 0.0, profile[-1][1]]]])
    low, high, last = len(points) - 2, len(points) - 1, (len(rings) - 1) * count
    triangles = []
    for i in range(count):
        j = (i + 1) % count
        triangles += [(low, j, i), (high, last + i, last + j)]
        for k in range(0, last, count):
            triangles += [(k + i, k + j, k + count + j), (k + i, k + count + j, k + count + i)]
    return pl.mesh.Surface.from_triangles(points, np.array(triangles))


def wedge_surface(half, height, length):
    """A prism along y whose edge, at z = 0, points down; `half` its width at the `height`."""
    x = np.array([0.0, half, -half])
    points = np.array([(x[k], y, (0.0, height, height)[k]) for y in (-0.5 * length, 0.5 * length) for k in range(3)])
    triangles = [(0, 1, 2), (3, 5, 4), (0, 3, 4), (0, 4, 1), (1, 4, 5), (1, 5, 2), (2, 5, 3), (2, 3, 0)]
    return pl.mesh.Surface.from_triangles(points, np.array(triangles))


def placed(surface, at):
    """The surface moved by `at`, m."""
    return surface.with_points(surface.points + np.asarray(at))
