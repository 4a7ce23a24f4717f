"""What a case of `pliant validate` is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is compared, with whom, and how to run it.

    line
        One line about it.
    group
        Key of `GROUPS` (`validation.cases`).
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
