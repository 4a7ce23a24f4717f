"""The site of the documentation: every page can be reached, and all of it is built without a warning."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_page_can_be_reached():
    folders = ("theory", "tutorials", "recipes")
    pages = [*DOCS.glob("*.md"), *DOCS.glob("notebooks/*.ipynb")]
    for folder in folders:
        pages += DOCS.glob(f"{folder}/*.md")
    named = set()
    for index in (DOCS / "index.md", *DOCS.glob("*/index.md")):
        for tree in re.findall(
            r"^```{toctree}\n(.*?)^```", index.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
        ):
            lines = [line for line in tree.splitlines() if line and not line.startswith(":")]
            named |= {(index.parent / line).resolve() for line in lines}
    missing = [page.name for page in pages if page.with_suffix("") not in named and page != DOCS / "index.md"]
    assert not missing, f"no table of contents names {missing}"


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    pytest.importorskip("myst_nb", reason="pip install '.[docs]'")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(DOCS), str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert (tmp_path / "_generated" / "gallery" / "grasp.html").exists()
