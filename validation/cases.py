"""Every case of `pliant validate`, in one place."""

from __future__ import annotations

from dataclasses import dataclass

GROUPS: dict[str, str] = {
    "hardware": "real robots, measured by others",
    "programs": "other programs on the same problem",
    "rods": "published runs of rod models",
    "literature": "published values of textbooks and papers",
    "friction": "collections of friction problems",
}
"""Sections of the table and of docs/validation.md, in their order."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is compared, with whom, and how to run it.

    line
        One line about it.
    group
        Key of `GROUPS`.
    rows
        "module:function". The function takes no argument, or the folder of the recordings where `data` is given, and
        returns a list of `validation.row.Row`.
    source, licence
        Of the reference: publication or repository; licence of the data, or "published value" where a number is quoted.
    data
        Folder below `--data DIR` without which the case is skipped.
    pictures
        "module:function" of a function (data folder or nothing, folder for files) → files; "" without pictures.
    """

    line: str
    group: str
    rows: str
    source: str
    licence: str
    data: str = ""
    pictures: str = ""


_BEAM = "Dubied et al., Sim-to-real for soft robots using differentiable FEM, RA-L 2022 (srl-ethz/diffPD_sim2real)"

CASES: dict[str, Case] = {
    "beam-comsol": Case(
        line="sag of a silicone beam, with and without a weight, against a COMSOL model",
        group="programs",
        rows="validation.beam_comsol:rows",
        source=_BEAM,
        licence="MIT",
    ),
}
"""The cases by name. `pliant validate NAME` runs one."""
