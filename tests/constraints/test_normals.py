"""Gaps of contacts of every kind of pair follow their normals, and every row of a world has a key of its own."""

from dataclasses import replace

import numpy as np
import pytest

import pliant as pl
from pliant.constraints import Constraint, RowLaw, Rows, RowView
from pliant.constraints.contact import ContactPair

RUBBER = pl.materials.Corotated(young=1e5, poisson=0.4, density=1e3)
STUFF = {"young": 1e8, "poisson": 0.3, "density": 1e3}
WIRE = {"section": pl.sections.Circle(0.002), **STUFF}
BLOCK = pl.mesh.box((0.04, 0.04, 0.04), (2, 2, 2))


def soft(name, **options):
    return pl.Volume(BLOCK, RUBBER, name=name, **options)


def line(start, end, count):
    return np.linspace(start, end, count + 1)


PAIRS = {
    "wire in a tube": lambda: (
        pl.Rod(0.06, 2, position=(0.02, 4e-4, 2e-4), base="free", name="inner", **WIRE),
        pl.Rod(0.1, 4, section=pl.sections.Tube(0.004, 0.003), base="free", name="outer", **STUFF),
    ),
    "wire across a wire": lambda: (
        pl.Beam(line((-0.05, 0.003, 0.0045), (0.05, 0.0, 0.0045), 4), name="upper", **WIRE),
        pl.Beam(line((0.003, -0.05, 0.0), (0.0, 0.05, 0.0), 4), name="lower", **WIRE),
    ),
    "wire on a ball": lambda: (
        pl.Beam(line((-0.05, 0.001, 0.0), (0.051, 0.0, 0.0), 4), name="wire", **WIRE),
        pl.RigidBody.sphere(radius=0.02, mass=0.1, position=(0.013, 0.0, -0.0225)),
    ),
    "ball on a block": lambda: (
        soft("block"), pl.RigidBody.sphere(radius=0.03, mass=0.1, position=(0.021, 0.019, 0.0703)),
    ),
    "box on a block": lambda: (
        soft("block"),
        pl.RigidBody.box(size=(0.02,) * 3, mass=0.1, position=(0.021, 0.019, 0.0523), rotation=(0.02, 0.03, 0.4)),
    ),
    "block on a capsule": lambda: (
        soft("block"), pl.Obstacle.capsule(start=(-0.05, 0.013, -0.0103), end=(0.09, 0.017, -0.0103), radius=0.01),
    ),
    "block on a plane": lambda: (soft("block"), pl.Obstacle.plane(point=(0.0, 0.0, -1e-3))),
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_a_gap_changes_by_its_normal_and_a_pushing_force_opens_it(name, friction):
    """The first body is moved by 1e-8 m: gaps, and normal rows, change by n · d of the same contacts."""
    scene = pl.Scene()
    things = [scene.add(thing) for thing in PAIRS[name]()]
    scene.collide(*things, friction=friction, margin=5e-3)
    world = scene.compile()
    (pair,) = world.constraints
    q = [model.initial()[0] for model in world.models]
    first = world.index(things[0])
    rows, memory = pair.rows_at(RowView.of(world.models, q, time=0.01, dt=0.01))
    contacts, width = memory.contacts, 3 if friction else 1
    assert contacts.count
    np.testing.assert_allclose(np.linalg.norm(contacts.normal, axis=1), 1.0, atol=1e-12)
    assert (np.diff(contacts.key) >= 0).all()
    for d in 1e-8 * np.eye(3):
        moved = [x.copy() for x in q]
        if moved[first].ndim == 3 and moved[first].shape[1] == 4:  # a beam: places, then frames
            moved[first][:, 0] += d
        elif type(things[0]) is pl.Rod:
            moved[first][0] += d
        else:
            moved[first] += d
        later = pair.contact_set(RowView.of(world.models, moved, time=0.01, dt=0.01), contacts)
        names = {each: k for k, each in enumerate(zip(later.key.tolist(), later.face.tolist(), strict=True))}
        common = [
            k for k, each in enumerate(zip(contacts.key.tolist(), contacts.face.tolist(), strict=True)) if each in names
        ]
        assert common
        place = [names[contacts.key[k], contacts.face[k]] for k in common]
        sign = 1.0 if (pair.a.handle is things[0]) else -1.0
        expected = sign * contacts.normal[common] @ d
        np.testing.assert_allclose(later.gap[place] - contacts.gap[common], expected, atol=2e-3 * 1e-8 + 1e-15)
        unknowns = np.zeros(world.models[first].constrained.shape)
        if unknowns.ndim == 3:
            unknowns[:, 0] = d
        elif type(things[0]) is pl.Rod:
            unknowns[0] = d
        else:
            unknowns[:] = d
        change = rows.H[first] @ unknowns.ravel()
        np.testing.assert_allclose(change[::width][common], expected, atol=1e-3 * 1e-8)


BAR = pl.mesh.box((0.1, 0.005, 0.005), (16, 1, 1))


def ring(opening):
    """Points of a bar that is bent to a ring with an `opening` (rad) between its ends."""
    angle, radius = BAR.points[:, 0] / 0.1 * (2.0 * np.pi - opening), 0.025 - BAR.points[:, 1]
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle), BAR.points[:, 2]])


def test_rows_of_all_pairs_of_a_world_have_keys_of_their_own():
    """Two rings that closed on themselves, both on the floor: no key twice."""
    scene = pl.Scene()
    floor = scene.add(pl.Obstacle.plane(point=(0.0, 0.0, -1e-3)))
    for k in range(2):
        body = scene.add(pl.Volume(BAR.mapped(lambda _: ring(1.0)), RUBBER, name=f"ring {k}"), position=(0.1 * k, 0, 0))
        scene.collide(body, body, margin=2e-3)
        scene.collide(body, floor, friction=0.3, margin=5e-3)
    world = scene.compile()
    closed = [q - ring(1.0) + ring(0.05) for q in world.initial_state().q]
    view = RowView.of(world.models, closed, time=0.01, dt=0.01)
    keys = [pair.rows_at(view)[0].key for pair in world.constraints]
    assert all(len(each) for each in keys)
    together = np.concatenate(keys)
    assert len(set(together.tolist())) == len(together)


def test_memories_whose_frames_do_not_fit_their_contacts_are_refused():
    scene = pl.Scene()
    body = scene.add(soft("block"))
    scene.collide(body, scene.add(pl.Obstacle.plane(point=(0.0, 0.0, -1e-3))), friction=0.3, margin=5e-3)
    world = scene.compile()
    (pair,) = world.constraints
    _, memory = pair.rows_at(RowView.of(world.models, time=0.01, dt=0.01))
    pair.check_memory(memory)
    for frames in (memory.frames[:-1], memory.frames[:, :1], memory.frames[:, :, :2]):
        with pytest.raises(pl.InputError, match="frames of contacts"):
            pair.check_memory(replace(memory, frames=frames))


def test_rows_of_drives_have_the_targets_of_their_laws():
    laws = [(int(RowLaw.BOUNDED), 0.0, 2.0, 0.3), (int(RowLaw.BILATERAL), -np.inf, np.inf, -0.7)]
    made = Rows.drives([np.zeros((2, 3))], np.array([0.1, 0.2]), laws, [5, 9])
    assert made.target.tolist() == [0.3, -0.7]
    assert made.law.tolist() == [law for law, *_ in laws]
    assert made.lower.tolist() == [0.0, -np.inf]
    assert made.upper.tolist() == [2.0, np.inf]
    assert made.key.tolist() == [5, 9]
    assert made.gap.tolist() == [0.1, 0.2]


def test_what_has_detection_says_so():
    class Silent(Constraint):
        pass

    assert not Silent.detects
    assert ContactPair.detects
