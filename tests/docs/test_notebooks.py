"""Every notebook of the documentation runs from its first cell to its last."""

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert any(cell.cell_type == "code" and "assert" in cell.source for cell in notebook.cells), "it ends in a check"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_its_output(path):
    nbformat = pytest.importorskip("nbformat")
    for cell in nbformat.read(path, as_version=4).cells:
        assert not cell.get("outputs"), "clear the outputs: they are made when the documentation is built"
