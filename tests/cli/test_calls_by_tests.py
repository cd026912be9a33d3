"""What a test calls shows nothing of how many processes run it otherwise."""

from __future__ import annotations

from workspace import Workspace, places

CONVERT = """# A program of one process: there is no rank.
import argparse
import os

import torch


def convert(source, folder):
    os.makedirs(folder)
    state = torch.load(source)
    torch.save(state["model"], os.path.join(folder, "model.pt"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("folder")
    given = parser.parse_args()
    convert(given.source, given.folder)
"""
CALLER = """import torch
import torch.distributed as dist

from convert import convert


def finish(model, folder):
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict()}, folder / "last.pt")
    dist.barrier()
    convert(folder / "last.pt", folder / "out")
"""


def test_a_call_by_a_test_is_no_evidence_of_several_processes(workspace: Workspace) -> None:
    workspace.write(convert=CONVERT, test_convert=CALLER)
    result = workspace.check("convert.py")
    assert (result.exit_code, places(result)) == (0, [])


def test_a_call_by_a_program_is(workspace: Workspace) -> None:
    workspace.write(convert=CONVERT, train=CALLER)
    assert places(workspace.check(".")) == ["convert.py:9:5 CKP201", "convert.py:11:5 CKP201"]


def test_a_test_that_is_checked_is_seen_with_its_own_calls(workspace: Workspace) -> None:
    workspace.write(convert=CONVERT, test_convert=CALLER)
    result = workspace.check("convert.py", "test_convert.py")
    assert places(result) == ["test_convert.py:12:5 CKP201"]
