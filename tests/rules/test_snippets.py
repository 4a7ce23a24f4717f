"""Every Python snippet of the README and of docs/ runs, those of one document one after the other."""

import re
import tomllib

import pytest

FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_snippets_run(document, tmp_path, monkeypatch):
    text = document.read_text(encoding="utf-8")
    snippets = list(FENCE.finditer(text))
    if not snippets:
        pytest.skip(f"{document.name} has no Python snippet")
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "snippet"}
    for snippet in snippets:
        line = text.count("\n", 0, snippet.start(1))
        exec(compile("\n" * line + snippet.group(1), str(document), "exec"), names)


def test_the_readme_leads_with_the_two_commands_and_twelve_lines(root):
    text = (root / "README.md").read_text(encoding="utf-8")
    fences = re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (shell, commands), (python, snippet) = fences[:2]
    assert (shell, python) == ("bash", "python")
    assert [line.split("#")[0].strip() for line in commands.splitlines()] == ["make demo", "make test"]
    assert len(snippet.splitlines()) <= 12


def test_links_of_the_documents_lead_to_files(document):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), f"{document.name} links to {target}, which does not exist"


def test_the_version_is_stated_once_and_the_same(root):
    import pliant

    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == pliant.__version__
    assert f"[{pliant.__version__}]" in (root / "CHANGELOG.md").read_text(encoding="utf-8")
