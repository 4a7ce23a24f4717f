"""Which contacts of a reduced pair get rows: modes, contacts outside of them, guards; on six points in three groups."""

from types import SimpleNamespace

import numpy as np
import pytest

from pliant.reduced.reduced_pair import ROW_DEPTH, ReducedPair, _all_in

GROUPS = np.array([0, 0, 0, 1, 1, 2])
MODES = np.array([[0.5, 0.0], [0.0, 0.0], [0.0, 0.8], [0.0, 0.6], [0.0, 0.0], [0.0, 0.0]])
"""The first mode acts at point 0, the second at points 2 and 3; group 2 has no mode."""


def pair(*, guards=2, tolerance=0.1, margin=0.01):
    """The part of a pair that chooses rows."""
    own = SimpleNamespace(
        basis=SimpleNamespace(modes=MODES, count=2, guards=guards, tolerance=tolerance), margin=margin,
        facing=SimpleNamespace(table=SimpleNamespace(group=GROUPS, group_count=3)), tolerated=tolerance * margin,
    )  # fmt: skip
    for name in ("_touched", "_meets", "_covered"):
        setattr(own, name, getattr(ReducedPair, name).func(own))
    return own


def test_points_and_groups_that_modes_touch():
    own = pair()
    assert own._touched.tolist() == [
        [True, False],
        [False, False],
        [False, True],
        [False, True],
        [False] * 2,
        [False] * 2,
    ]
    assert own._meets.tolist() == [[True, True], [False, True], [False, False]]
    assert own._covered.tolist() == [True] * 5 + [False]
    assert ReducedPair.tolerated.fget(
        SimpleNamespace(basis=SimpleNamespace(tolerance=0.2), margin=0.03)
    ) == pytest.approx(6e-3)


def test_rows_combine_the_points_of_active_modes_and_single_contacts():
    own = pair()
    points, combination = ReducedPair._combination(own, np.array([1]), np.array([4, 2]))
    assert points.tolist() == [2, 3, 4]
    np.testing.assert_array_equal(combination, [[0.8, 0.0, 1.0], [0.6, 0.0, 0.0], [0.0, 1.0, 0.0]])
    points, combination = ReducedPair._combination(own, np.array([0, 1]), np.zeros(0, int))
    assert points.tolist() == [0, 2, 3]
    np.testing.assert_array_equal(combination, [[0.5, 0.0], [0.0, 0.8], [0.0, 0.6]])
    points, combination = ReducedPair._combination(own, np.zeros(0, int), np.array([5]))
    assert (points.tolist(), combination.tolist()) == ([5], [[1.0]])


def test_contacts_outside_all_modes():
    """Where no mode is, each within the margin, at once; in groups of modes those at the depth that is tolerated."""
    own = pair()
    deep = -ROW_DEPTH * own.tolerated
    for gap, near, points, depth in (
        ((0.1,) * 5 + (0.005,), (False,) * 5 + (True,), [5], [0.0]),
        ((0.1,) * 5 + (0.005,), (False,) * 6, [], []),
        ((deep, deep, deep, deep, 0.0, 0.1), (True,) * 5 + (False,), [1], [own.tolerated]),
        ((0.0, 0.99 * deep, 0.0, 0.0, 1.01 * deep, 0.002), (True,) * 6, [5, 4], [0.0, own.tolerated]),
    ):
        found, allowed = ReducedPair._unknown(own, np.array(gap), np.array(near))
        assert found.tolist() == points
        assert allowed.tolist() == pytest.approx(depth)


def test_guards_are_the_nearest_points_of_groups_with_modes():
    gap = np.array([3e-3, 1e-3, 2e-3, 5e-3, 4e-3, 0.0])
    near, none = np.ones(6, bool), np.zeros(0, int)

    def guards(*, dt=0.01, count=2, alone=none, near=near, gap=gap):
        return ReducedPair._guards(pair(guards=count), SimpleNamespace(dt=dt), gap, near, alone).tolist()

    assert guards() == [1, 4], "one of each group, the deepest first; point 5 is in no group of modes"
    assert guards(count=1) == [1]
    assert guards(count=0) == []
    assert guards(alone=np.array([1])) == [2, 4], "it has a row already"
    assert guards(near=np.array([True, False, False, True, False, True])) == [0, 3]
    assert guards(gap=gap[[3, 4, 2, 1, 0, 5]]) == [3, 2], "group 1 is nearer now"
    touching = np.array([0.9e-3, 1.1e-3, -1e-3, 0.5e-3, 1e-3, -5.0])
    assert guards(dt=None, count=9, gap=touching) == [2, 3, 0, 4], "a quasi-static step takes all that touch"
    assert guards(dt=0.0, count=2, gap=touching) == [2, 3]


def test_contacts_are_covered_where_all_their_nodes_are():
    mask = np.array([True, True, False, True])
    nodes = np.array([[0, 1, 3], [0, 2, 3], [1, -1, -1], [2, -1, -1], [-1, -1, -1]])
    assert _all_in(mask, nodes).tolist() == [True, False, True, False, True]


@pytest.mark.parametrize("itself", [False, True])
def test_other_contacts_lie_between_the_neighbourhoods(itself):
    """Of a body with itself, either way round."""
    first, second = np.array([True, False, False]), np.array([False, True, False])
    found = SimpleNamespace(nodes_a=np.array([[0], [1], [0], [2]]), nodes_b=np.array([[1], [0], [2], [1]]))
    surface = object()
    own = SimpleNamespace(_near=(first, second), a=surface, b=surface if itself else object())
    assert ReducedPair._covered_others(own, found).tolist() == [True, itself, False, False]


def test_pushing_contacts_outside_of_modes_are_counted():
    """Two modes and three single contacts of width 3, then the rows of other contacts."""
    own = SimpleNamespace(facing=SimpleNamespace(width=3))
    lam = np.zeros(3 * 5 + 6)
    lam[[0, 9, 15 + 3]] = 1.0, 2.0, 3.0
    lam[10] = 5.0  # friction of a contact that is counted by its normal force
    lam[7] = 5.0  # friction without
    memory = SimpleNamespace(unknown=3, split=lambda lam: (lam[:15], lam[15:]))
    assert ReducedPair.unknown_pushing(own, memory, lam) == 2
    memory.unknown = 5
    assert ReducedPair.unknown_pushing(own, memory, lam) == 3
    memory.unknown = 0
    assert ReducedPair.unknown_pushing(own, memory, -lam) == 0
