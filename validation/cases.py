"""Every case of `pliant validate`, in one place."""

from __future__ import annotations

from validation.case import Case
from validation.literature.cases import PROBLEMS

__all__ = ["CASES", "GROUPS", "Case"]

GROUPS: dict[str, str] = {
    "hardware": "real robots, measured by others",
    "identification": "real robots, fitted by pl.identify",
    "programs": "other programs on the same problem",
    "peers": "other programs on the same mesh and law",
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
        line="poses of a tapered tentacle with two tendons, fitted on some and tested on the others",
        group="hardware",
        rows="validation.tentacle_fit:rows",
        source="SoRoMoX (tud-phi/soromox), recordings of a tendon-driven tentacle",
        licence="MIT",
        data="tentacle",
        pictures="validation.pictures:tentacle",
    ),
    "beam-identified": Case(
        line="the modulus of a silicone beam from its sag under two loads, and the markers with it",
        group="identification",
        rows="validation.identified:beam_rows",
        source=_BEAM,
        licence="MIT",
        data="beam",
    ),
    "tentacle-identified": Case(
        line="modulus and density of a tentacle with two tendons from all of its poses, and the markers with them",
        group="identification",
        rows="validation.identified:tentacle_rows",
        source="SoRoMoX (tud-phi/soromox), recordings of a tendon-driven tentacle",
        licence="MIT",
        data="tentacle",
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
    "rod-soromox": Case(
        line="the same rod against SoRoMoX, with as many sections of constant strain and converged",
        group="rods",
        rows="validation.rod_rollouts:soromox_rows",
        source="SoRoMoX (tud-phi/soromox), run by benchmarks/peers/soromox_swing.py",
        licence="MIT",
    ),
    "bent-rubber": Case(
        line="a rubber beam under a dead load that bends it by half of its length, against felupe and CalculiX",
        group="peers",
        rows="validation.peers.statics:beam_rows",
        source="felupe (A. Dutzler) and CalculiX (G. Dhondt, K. Wittig)",
        licence="GPL-3.0 and GPL-2.0",
    ),
    "pressed-dome": Case(
        line="contact: a rubber dome pressed by a smooth rigid plate, against felupe and CalculiX",
        group="peers",
        rows="validation.peers.statics:dome_rows",
        source="felupe (A. Dutzler) and CalculiX (G. Dhondt, K. Wittig)",
        licence="GPL-3.0 and GPL-2.0",
    ),
    "swing-mujoco": Case(
        line="a soft beam that swings under gravity, against MuJoCo's flex",
        group="peers",
        rows="validation.peers.swings:mujoco_rows",
        source="MuJoCo (Todorov et al., IROS 2012), run by benchmarks/peers/mujoco_swing.py",
        licence="Apache-2.0",
    ),
    "swing-drake": Case(
        line="a soft beam that swings under gravity, against Drake's deformable bodies",
        group="peers",
        rows="validation.peers.swings:drake_rows",
        source="Drake (Tedrake et al., 2019), run by benchmarks/peers/drake_swing.py",
        licence="BSD-3-Clause",
    ),
    "drop-mujoco": Case(
        line="contact: a soft block that falls on a smooth floor and bounces, against MuJoCo's flex",
        group="peers",
        rows="validation.peers.drops:mujoco_rows",
        source="MuJoCo (Todorov et al., IROS 2012), run by benchmarks/peers/mujoco_drop.py",
        licence="Apache-2.0",
    ),
    "drop-drake": Case(
        line="contact: a soft block that falls on a smooth floor and bounces, against Drake's deformable bodies",
        group="peers",
        rows="validation.peers.drops:drake_rows",
        source="Drake (Tedrake et al., 2019), run by benchmarks/peers/drake_drop.py",
        licence="BSD-3-Clause",
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
