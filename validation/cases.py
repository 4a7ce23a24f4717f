"""Every case of `pliant validate`, in one place."""

from __future__ import annotations

from validation.case import Case
from validation.literature.cases import PROBLEMS

__all__ = ["CASES", "GROUPS", "Case"]

GROUPS: dict[str, str] = {
    "hardware": "real robots, measured by others",
    "programs": "other programs on the same problem",
    "rods": "published runs of rod models",
    "literature": "published values of textbooks and papers",
    "friction": "collections of friction problems",
}
"""Sections of the table and of docs/validation.md, in their order."""


_BEAM = "Dubied et al., Sim-to-real for soft robots using differentiable FEM, RA-L 2022 (srl-ethz/diffPD_sim2real)"

CASES: dict[str, Case] = {
    "beam": Case(
        line="sag, ring-down and motion of a silicone beam, with and without a weight",
        group="hardware",
        rows="validation.beam:rows",
        source=_BEAM,
        licence="MIT",
        data="beam",
        pictures="validation.pictures:beam",
    ),
    "tentacle": Case(
        line="poses of a tapered tentacle with two tendons, fitted on half of them",
        group="hardware",
        rows="validation.tentacle:rows",
        source="SoRoMoX (tud-phi/soromox), recordings of a tendon-driven tentacle",
        licence="MIT",
        data="tentacle",
        pictures="validation.pictures:tentacle",
    ),
    "beam-comsol": Case(
        line="sag of a silicone beam, with and without a weight, against a COMSOL model",
        group="programs",
        rows="validation.beam_comsol:rows",
        source=_BEAM,
        licence="MIT",
    ),
    "rod-pyelastica": Case(
        line="a clamped rod that swings under gravity without damping, against PyElastica",
        group="rods",
        rows="validation.rod_rollouts:pyelastica",
        source="PyElastica (Gazzola et al., R. Soc. Open Sci. 5, 2018), run by benchmarks/peers/elastica_swing.py",
        licence="MIT",
    ),
    "friction-collection": Case(
        line="friction problems of the collection of Siconos: residuals, and times beside its solvers",
        group="friction",
        rows="validation.friction:rows",
        source="Acary et al., FCLIB, a collection of discrete 3D frictional contact problems, 2014; tests of Siconos",
        licence="Apache-2.0",
        data="friction",
        pictures="validation.friction:pictures",
    ),
    **PROBLEMS,
}
"""The cases by name. `pliant validate NAME` runs one."""
