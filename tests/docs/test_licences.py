"""The table of licences names what Pliant needs, and what each package states."""

import importlib.util
from importlib.metadata import distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("licences", ROOT / "docs" / "licences.py")
licences = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(licences)
ALLOWED_IN_CORE = {"MIT", "BSD", "Apache", "ISC", "PSF", "HPND", "MPL"}


@pytest.fixture(scope="module")
def stated():
    """Package → (licence, needed by), as the page has it."""
    page = licences.PAGE.read_text(encoding="utf-8")
    table = page.split(licences.START)[1].split(licences.END)[0].strip().splitlines()[2:]
    return {row[0]: (row[1], row[2]) for row in ([cell.strip() for cell in line.split("|")[1:-1]] for line in table)}


def test_every_package_is_listed_with_its_licence(stated):
    """Newer versions of a package may need others: `python docs/licences.py` writes the table anew."""
    for name, licence, _ in licences.rows():
        assert name in stated, f"{name} ({licence}) is missing: python docs/licences.py"
        assert licences.families(licence) == licences.families(stated[name][0]), name
        assert licences.families(licence), f"the licence of {name} is of no known family: {licence!r}"


def test_the_core_needs_permissive_packages_only(stated):
    core = {name: licences.families(licence) for name, (licence, owner) in stated.items() if owner == "core"}
    assert {"numpy", "numba", "llvmlite", "daqp"} <= set(core)
    assert all(families <= ALLOWED_IN_CORE for families in core.values()), core
    assert licences.families(stated["gmsh"][0]) == {"GPL"}
    assert stated["gmsh"][1] == "mesh"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("GPLv2+", {"GPL"}), ("LGPL-2.1-or-later", {"LGPL"}), ("GNU Affero General Public License", {"AGPL", "GPL"}),
        ("BSD-3-Clause", {"BSD"}), ("MPL-2.0 AND MIT", {"MPL", "MIT"}), ("nothing", set()), ("Apache 2.0", {"Apache"}),
    ],
)  # fmt: skip
def test_families(text, found):
    assert licences.families(text) == found


def test_direct_dependencies_of_pyproject_are_in_it(stated):
    direct = {licences._plain(licences.Requirement(line).name) for line in distribution("pliant").requires or ()}
    assert {"numpy", "viser", "gmsh", "cloudpickle"} <= direct & set(stated)
