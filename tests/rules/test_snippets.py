"""Every Python snippet of the README and of docs/ runs, those of one document one after the other.

In tutorials and recipes the commands run too, and a tutorial ends in a picture that its own code makes.
"""

import importlib.util
import re
import tomllib

import pytest

LARGEST_PICTURE = 200_000
"""Bytes: a page with pictures must load over a slow line."""


@pytest.fixture(scope="module")
def snippets(root):
    spec = importlib.util.spec_from_file_location("snippets", root / "docs" / "snippets.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_snippets_run(document, snippets, tmp_path, monkeypatch):
    if not snippets.blocks(document):
        pytest.skip(f"{document.name} has no Python snippet")
    for package in snippets.needed(document):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    snippets.run_page(document)
    drawn = snippets.pictures(document) if document.parent.name == "tutorials" else []
    missing = [name for name in drawn if not (tmp_path / name).exists()]
    assert not missing, f"{document.name} shows {missing}, which its code does not make"


def test_a_tutorial_ends_in_a_picture(document, snippets):
    if document.parent.name == "tutorials" and document.stem != "index":
        assert snippets.pictures(document), f"{document.name} shows no picture of its own"


def test_pictures_are_small(root):
    found = (root / "docs" / "images" / "tutorials").glob("*")
    large = [path.name for path in found if path.stat().st_size > LARGEST_PICTURE]
    assert not large, f"over {LARGEST_PICTURE} bytes: {large}"


def test_the_readme_leads_with_the_two_commands_and_twelve_lines(root):
    text = (root / "README.md").read_text(encoding="utf-8")
    fences = re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (shell, commands), (python, snippet) = fences[:2]
    assert (shell, python) == ("bash", "python")
    assert [line.split("#")[0].strip() for line in commands.splitlines()] == ["make demo", "make test"]
    assert len(snippet.splitlines()) <= 12


def test_links_of_the_documents_lead_to_files(document):
    for target in re.findall(r"\]\((?!https?:|_generated/)([^)#]+)\)", document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), f"{document.name} links to {target}, which does not exist"


def test_the_version_is_stated_once_and_the_same(root):
    import pliant

    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == pliant.__version__
    assert f"[{pliant.__version__}]" in (root / "CHANGELOG.md").read_text(encoding="utf-8")
