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
    "beam-comsol": Case(
        line="sag of a silicone beam, with and without a weight, against a COMSOL model",
        group="programs",
        rows="validation.beam_comsol:rows",
        source=_BEAM,
        licence="MIT",
    ),
    **PROBLEMS,
}
"""The cases by name. `pliant validate NAME` runs one."""
