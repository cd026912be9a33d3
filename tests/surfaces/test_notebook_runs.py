"""A notebook that starts two ranks: with the fault it ends in an error, fixed by ``--fix`` it runs
in a real kernel and is a valid notebook still."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

_ROOT = Path(__file__).parents[2]
IMPORTS = """\
%config InlineBackend.close_figures = True
import datetime
import pathlib
import torch
import torch.distributed as dist
import torch.multiprocessing as processes
"""
TRAIN = """\
def train(rank, folder):
    limit = datetime.timedelta(seconds=10)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2, timeout=limit
    )
    model = torch.nn.Linear(2, 2)
    if dist.get_rank() == 0:
        # é: the others wait for this file
        torch.save(model.state_dict(), f"{folder}/model.pt")
        dist.barrier()
    dist.destroy_process_group()
"""
RUN = """\
folder = pathlib.Path.cwd()
processes.start_processes(train, (folder,), nprocs=2, start_method="fork")
print(sorted(torch.load(folder / "model.pt")))
"""


def written(folder: Path) -> Path:
    cells = [nbformat.v4.new_code_cell(source) for source in (IMPORTS, TRAIN, RUN)]
    cells.insert(1, nbformat.v4.new_markdown_cell("# Träning"))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    folder.mkdir()
    path = folder / "train.ipynb"
    nbformat.write(notebook, path)
    return path


def executed(path: Path) -> str:
    """Run a notebook in a kernel; return what its last cell prints."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=120, resources=resources).execute()
    return "".join(output.get("text", "") for output in notebook.cells[-1].outputs)


def test_a_fixed_notebook_runs(tmp_path: Path) -> None:
    if find_spec("torch") is None:
        pytest.skip("torch is not installed: the notebook is not run here")
    bad, fixed = written(tmp_path / "bad"), written(tmp_path / "fixed")
    before = fixed.read_text()
    done = subprocess.run(
        [sys.executable, "-m", "ckptlint", "check", "--isolated", "--fix", str(fixed)],
        capture_output=True,
        text=True,
    )
    assert "(1 fixed, 0 remaining)" in done.stdout, done
    nbformat.validate(nbformat.read(fixed, as_version=4))
    assert json.loads(before)["cells"][3] == json.loads(fixed.read_text())["cells"][3]
    assert executed(fixed) == "['bias', 'weight']\n"
    with pytest.raises(CellExecutionError):
        executed(bad)
