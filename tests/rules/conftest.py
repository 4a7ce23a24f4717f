"""Where things are, for the rules."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def root():
    return ROOT


def pytest_generate_tests(metafunc):
    if "document" in metafunc.fixturenames:
        pages = [page for page in sorted((ROOT / "docs").rglob("*.md")) if "_generated" not in page.parts]
        documents = [ROOT / "README.md", *pages]
        metafunc.parametrize("document", documents, ids=lambda path: path.name)
