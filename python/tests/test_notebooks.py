"""The notebooks of examples/notebooks run unchanged. They are stored with outputs: LTR_BLESS=1 rewrites them."""

from __future__ import annotations

import copy
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "notebooks"
LARGEST = 150_000
# What a page of a repository shows.
SHOWN = ("text/plain", "text/html", "image/svg+xml")


def outputs(notebook):
    """The kinds of the outputs of each cell. The numbers may differ between processors."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [[sorted(output.get("data", {output.output_type: None})) for output in cell.outputs] for cell in cells]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_and_has_its_outputs(path):
    stored = nbformat.read(path, as_version=4)
    nbformat.validate(stored)
    notebook = copy.deepcopy(stored)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(FOLDER)}}).execute()
    notebook.metadata.pop("language_info", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            # Warnings name a file of this machine.
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        for output in cell.get("outputs", []):
            assert output.output_type != "error"
            if "data" in output:
                output.data = {kind: data for kind, data in output.data.items() if kind in SHOWN}
    if os.environ.get("LTR_BLESS"):
        nbformat.write(notebook, path)
        stored = notebook
    assert outputs(stored) == outputs(notebook)
    assert any(outputs(stored))
    assert path.stat().st_size < LARGEST
