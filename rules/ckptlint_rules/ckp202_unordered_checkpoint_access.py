"""One rank writes or deletes a file that others use, without waiting.

## What it does

Finds a file that rank 0 writes, creates, renames or deletes under a rank test, and that other ranks
read, test for or change without a collective between the two. Finds also, as *possible*, a rank
that puts together the files of all ranks before it has waited for them.

## Why is this bad?

The ranks do not run in step. A rank that comes early does not find the file, or reads half of it;
one that comes late finds it deleted. It works on one machine and fails on a busy file system.

## Example

```python
import torch
import torch.distributed as dist


def reload(model, path):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    model.load_state_dict(torch.load(path))
```

## Use instead

```python
import torch
import torch.distributed as dist


def reload(model, path):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()
    model.load_state_dict(torch.load(path))
```

A collective that only some ranks reach orders nothing. Where the file is deleted, the barrier
belongs in front of the test.

## Fix safety

Where both stand in one function the fix puts a barrier between them, in the words of one that is
there or of the rank test. It is unsafe: where a caller keeps ranks away, the barrier hangs.

## Known limits

- Two paths are the same when they were computed alike; that a folder holds a file is not seen. The
  files of all ranks are known by a loop up to the number of ranks, which goes into their names.
- A call of unknown effect whose name speaks of waiting, exchanging or training between the two
  counts as a collective.

## References

- [PyTorch: saving and loading under DDP](https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints)
- [transformers pull request 10685](https://github.com/huggingface/transformers/pull/10685)
- [PyTorch pull request 84881](https://github.com/pytorch/pytorch/pull/84881)
"""

from __future__ import annotations

from collections.abc import Iterable

from ckptlint.api import (
    Confidence,
    FileFault,
    Finding,
    Knowledge,
    Proposal,
    Rule,
    Severity,
    add_barrier,
)

RULE = Rule(
    code="CKP202",
    name="unordered-checkpoint-access",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.LIKELY,
    fix="sometimes",
    page=__doc__,
)


def check_files(fault: FileFault) -> Finding | None:
    """Report a use that may come before the write, or after the deletion."""
    if fault.kind == "parts":
        message = (
            f"rank 0 alone reaches {fault.operation}{fault.chain} for the files of all ranks, and "
            "has not waited for them to be written"
        )
        help_ = "let all ranks meet in a barrier before one of them uses what the others write"
        return fault.finding(RULE, message, help_)
    if fault.kind != "order":
        return None
    if fault.removed:
        message = (
            f"every rank uses the file in {fault.operation}{fault.chain}, and rank 0 takes it away "
            f"in {fault.other_operation} without waiting for the others"
        )
        help_ = "let all ranks meet in a barrier before it is taken away"
    else:
        message = (
            f"rank 0 alone reaches {fault.operation}{fault.chain}, and the other ranks use the "
            f"file in {fault.other_operation} without waiting for it"
        )
        help_ = "let all ranks meet in a barrier between the two"
    return fault.finding(RULE, message, help_)


def fix_files(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Let all ranks meet between the two accesses."""
    return add_barrier(fault, knowledge)
