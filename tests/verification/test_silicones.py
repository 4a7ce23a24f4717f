"""Named silicones against the tensile tests they stand on, to stretch 3, through the law and through a stretched bar.

Soft Robotics Materials Database (Marechal et al. 2021), ASTM D412. The law at ν = 0.499 is compared with the data; the
bar of the geometric stepper with both.
"""

import numpy as np
import pytest
from scipy.optimize import brentq

import pliant as pl

STRAINS = np.array([0.25, 0.5, 1.0, 2.0])
MEASURED = {  # engineering stress at those engineering strains, kPa
    "Ecoflex 00-30": np.array([8.6, 16.9, 29.7, 52.4]),
    "Dragon Skin 20": np.array([72.0, 151.0, 318.0, 722.0]),
}
SILICONES = {silicone.name: silicone for silicone in (pl.materials.ecoflex_00_30, pl.materials.dragon_skin_20)}
LAWS = [(name, law) for name in MEASURED for law in ("ogden", "yeoh")]


def material_of(name, law):
    return getattr(SILICONES[name], law)(poisson=0.499, relative=True)


def law_stress(material, strain):
    """Engineering stress, Pa, of a strip that is free at its sides."""

    def deformed(side):
        return np.diag([1.0 + strain, side, side])

    side = brentq(lambda b: material.stress(deformed(b))[1, 1], 0.4, 1.1, xtol=1e-14)
    return material.stress(deformed(side))[0, 0]


@pytest.mark.parametrize(("name", "law"), LAWS)
def test_the_law_meets_the_tensile_test(name, law):
    """Within 10 % at every strain to 2."""
    material = material_of(name, law)
    stress = 1e-3 * np.array([law_stress(material, strain) for strain in STRAINS])
    print(f"{name} {law}: {np.round(100.0 * (stress / MEASURED[name] - 1.0), 1)} %")
    assert stress == pytest.approx(MEASURED[name], rel=0.1)


@pytest.mark.parametrize(("name", "law"), [LAWS[0], *(pytest.param(*law, marks=pytest.mark.slow) for law in LAWS[1:])])
def test_a_bar_in_the_geometric_stepper_meets_it_too(name, law):
    """Reactions of a bar on rollers, pulled to stretch 3: those of the law to 0.1 %, the test's within 10 %.

    Plain elements: in a uniform state nothing locks. Averaged ones were seen to leave it beyond stretch 2.4.
    """
    material, size = material_of(name, law), np.array([0.03, 0.01, 0.01])
    scene = pl.Scene()
    body = scene.add(pl.Volume(pl.mesh.box(size, (3, 2, 2)), material, anti_locking=False))
    for axis in "xyz":
        scene.add(pl.Support(body, pl.regions.plane(axis=axis, at=0.0), axes=axis))
    pull = scene.add(pl.Support(body, pl.regions.plane(axis="x", at=size[0]), axes="x"))
    world = scene.compile()
    state, stress, ends = world.initial_state(), [], body.mesh.points[:, 0] > 0.999 * size[0]
    for strain in np.arange(0.25, 2.01, 0.25):
        state, info = pl.Geometric()(world, state, {pull: pl.Displacement(strain * size[0])})
        if strain in STRAINS:
            stress.append(1e-3 * info.reaction(body)[ends, 0].sum() / (size[1] * size[2]))
    assert stress == pytest.approx([1e-3 * law_stress(material, strain) for strain in STRAINS], rel=1e-3)
    assert stress == pytest.approx(MEASURED[name], rel=0.1)
