"""Write the table of licences in docs/licences.md, from the metadata of the installed packages:
`python docs/licences.py`. What Pliant needs, with its extras and all that these need, is in it.
"""

from __future__ import annotations

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

PAGE = Path(__file__).with_name("licences.md")
START, END = "<!-- licences: start -->", "<!-- licences: end -->"
EXTRAS = ("cluster", "gpu", "gym", "hybrid", "mesh", "plot", "stream", "sweep", "viewer")
_FAMILIES = {
    r"AGPL|Affero": "AGPL", r"LGPL|Lesser": "LGPL", r"\bGPL|General Public": "GPL", r"MPL|Mozilla": "MPL",
    r"Apache": "Apache", r"BSD": "BSD", r"\bMIT\b|Expat": "MIT", r"\bISC\b": "ISC", r"PSF|Python Software": "PSF",
    r"HPND|CMU": "HPND", r"Unlicense": "Unlicense", r"0BSD": "0BSD", r"zlib": "Zlib",
}  # fmt: skip
"""Words of licences, and the family of each; the stricter ones first."""


def needed() -> dict[str, set[str]]:
    """The packages that Pliant needs, each with the extras that it is needed for; "core" for all that always is."""
    found: dict[str, set[str]] = {}
    for extra in ("core", *EXTRAS):
        _collect("pliant", "" if extra == "core" else extra, extra, found, set())
    return {
        name: {"core"} if "core" in extras else extras for name, extras in sorted(found.items()) if name != "pliant"
    }


def _collect(name: str, extra: str, owner: str, found: dict[str, set[str]], seen: set[tuple[str, str]]) -> None:
    if (name, extra) in seen:
        return
    seen.add((name, extra))
    found.setdefault(name, set()).add(owner)
    for line in distribution(name).requires or ():
        wanted = Requirement(line)
        own = "extra ==" in str(wanted.marker or "")
        if (wanted.marker is None or wanted.marker.evaluate({"extra": extra})) and not (own and not extra):
            for inner in ("", *wanted.extras):
                try:
                    distribution(wanted.name)
                except PackageNotFoundError:
                    continue  # of another system, or not installed
                _collect(_plain(wanted.name), inner, owner, found, seen)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def licence(package: Distribution) -> str:
    """The licence of a package in its own short words: an SPDX expression, else its field, else its classifiers."""
    data = package.metadata
    short = (data.get("License") or "").strip()
    classified = [each.rsplit("::", 1)[1].strip() for each in data.get_all("Classifier") or () if "License ::" in each]
    if data.get("License-Expression"):
        return str(data["License-Expression"])
    if short and "\n" not in short and len(short) <= 60 and short.upper() != "UNKNOWN":
        return short
    told = ", ".join(each for each in classified if each != "OSI Approved")
    return told or ", ".join(sorted(families(_text(package)))) or "not stated"


def _text(package: Distribution) -> str:
    """The first lines of the licence that a package carries."""
    files = [file for file in package.files or () if "licenses/LICENSE" in str(file)]
    return files[0].read_text()[:200] if files else ""


def families(text: str) -> set[str]:
    """The families of licences that `text` names."""
    return {family for words, family in _FAMILIES.items() if re.search(words, text)}


def rows() -> list[tuple[str, str, str]]:
    """Package, licence and what it is for, of each installed package that Pliant needs."""
    return [
        (name, licence(distribution(name)).replace("|", "/"), ", ".join(sorted(extras)))
        for name, extras in needed().items()
    ]


def table() -> str:
    """The table of the page."""
    lines = ["| package | licence | needed by |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {text} | {owner} |" for name, text, owner in rows())])


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    head, rest = page.split(START)
    PAGE.write_text(f"{head}{START}\n{table()}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    print(f"wrote {PAGE.name}: {len(rows())} packages")
