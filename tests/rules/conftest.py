"""Where things are, for the rules."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def root():
    return ROOT


def pytest_generate_tests(metafunc):
    if "document" in metafunc.fixturenames:
        documents = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
        metafunc.parametrize("document", documents, ids=lambda path: path.name)
