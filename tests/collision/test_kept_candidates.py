"""Candidates that last from query to query: the contacts are those of the tree, to the last bit."""

import numpy as np
import pytest

from pliant.collision import CollisionSurface, ProximityOptions, self_contacts, surface_contacts
from pliant.collision.broad.kept_candidates import SKIN, KeptCandidates
from pliant.collision.contacts import _ARRAYS


def assert_same(found, wanted):
    for name in _ARRAYS:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)


def wandering(rng, x, *, step, count):
    """`count` positions, each point moved at random by up to `step` from the one before, and all of them turned."""
    for _ in range(count):
        move = rng.normal(size=x.shape)
        move *= step * rng.random((len(x), 1)) / np.linalg.norm(move, axis=1, keepdims=True)
        axis = step * rng.normal(size=3)
        x = x + move + np.cross(axis, x - x.mean(axis=0))
        yield x


@pytest.mark.parametrize("step", [0.001, 0.004, 0.02])
def test_of_two_bodies(shapes, step):
    rng = np.random.default_rng(3)
    rest, triangles = shapes.box(cells=(3, 3, 2))
    ball, faces = shapes.sphere(2, radius=0.6)
    a, b = CollisionSurface.build(triangles, rest), CollisionSurface.build(faces, ball)
    kept, previous, total = KeptCandidates(0.08), None, 0
    ways = (
        wandering(rng, rest, step=step, count=25),
        wandering(rng, ball + np.array([0.5, 0.5, 1.55]), step=step, count=25),
    )
    for x, y in zip(*ways, strict=True):
        options = ProximityOptions(margin=0.08 + 0.02 * rng.random())
        wanted = surface_contacts(a.at(x), b.at(y), options, previous=previous)
        assert_same(surface_contacts(a.at(x), b.at(y), options, previous=previous, kept=kept), wanted)
        previous, total = wanted, total + wanted.count
    assert total >= 25


@pytest.mark.parametrize("fold", [0.05, 0.2])
def test_of_one_body(shapes, fold):
    """A closed notch and a crumpled box, whose sides pass through each other."""
    rng = np.random.default_rng(5)
    sheet, triangles = shapes.sheet(8)
    sheet[:, 2] = 0.8 * np.abs(sheet[:, 0])
    box, sides = shapes.box(cells=(3, 3, 2))
    bodies = (triangles, sheet, sheet * [fold, 1.0, 1.0]), (sides, box, box + 0.25 * rng.normal(size=box.shape))
    for faces, rest, start in bodies:
        surface, options = CollisionSurface.build(faces, rest), ProximityOptions(margin=0.05)
        kept, previous, total = KeptCandidates(options.margin), None, 0
        for x in wandering(rng, start, step=0.001, count=25):
            wanted = self_contacts(surface.at(x), options, previous=previous)
            assert_same(self_contacts(surface.at(x), options, previous=previous, kept=kept), wanted)
            previous, total = wanted, total + wanted.count
        assert total >= 25


def test_a_list_lasts_until_the_skin_is_used_up(shapes):
    """Half of it for a body with itself, whose points may move against each other; fast bodies use the tree."""
    rest, triangles = shapes.box(cells=(2, 2, 2))
    surface, options = CollisionSurface.build(triangles, rest), ProximityOptions(margin=0.1)
    kept, skin = KeptCandidates(0.1), SKIN * 0.1
    for way in (0.0, 0.1, 0.2, 0.3, 0.49, 0.51):
        self_contacts(surface.at(rest + np.array([way * skin, 0, 0])), options, kept=kept)
        assert kept.served == {0.1: 2, 0.2: 3, 0.3: 4, 0.49: 5}.get(way, 1)
    self_contacts(surface.at(rest + np.array([1.0, 0, 0])), options, kept=kept)
    assert kept.made is None
    self_contacts(surface.at(rest + np.array([2.0, 0, 0])), options, kept=kept)
    assert kept.made is None
    for _ in range(16):
        self_contacts(surface.at(rest + np.array([2.0, 0, 0])), options, kept=kept)
    assert kept.made is not None


def test_no_list_is_made_that_motions_would_outrun(shapes, monkeypatch):
    """Each costs several searches of the tree: made every 17 steps of a fast body they were its slowest steps."""
    rest, triangles = shapes.box(cells=(2, 2, 2))
    surface, options = CollisionSurface.build(triangles, rest), ProximityOptions(margin=0.05)
    kept, listed = KeptCandidates(options.margin), KeptCandidates._listed
    asked, made = [], []

    def counted(self, *arguments):
        made.append(len(asked))
        return listed(self, *arguments)

    def move(fraction, count):
        """`count` queries of the body, moved by this fraction of the skin after each: twice of it against itself."""
        for _ in range(count):
            place = rest + np.array([sum(asked), 0.0, 0.0])
            self_contacts(surface.at(place), options, kept=kept)
            asked.append(fraction * SKIN * options.margin)

    monkeypatch.setattr(KeptCandidates, "_listed", counted)
    move(0.3, 100)
    assert made == [0]
    move(0.01, 100)
    assert made[:2] == [0, 101]
    assert len(made) == 3
