"""Every rank writes, creates, renames or deletes the same file.

## What it does

Finds files that all ranks of a distributed program write at the same time, folders and links that
all of them create, and files that all of them rename or delete. Two are enough: a test that is
wrong by one, as `rank > 1`, lets rank 1 in beside rank 0.

## Why is this bad?

The ranks overwrite each other. What is left is one rank's file, or a mixture of several that cannot
be loaded. Of a folder that all create without `exist_ok=True`, or a file that all delete, only the
first rank finds what it expects; the others raise. On a network file system even a write of the
same bytes may block ranks for ever.

## Example

```python
import torch
import torch.distributed as dist


def save(model, path):
    dist.barrier()
    torch.save(model.state_dict(), path)
```

## Use instead

```python
import torch
import torch.distributed as dist


def save(model, path):
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
```

Guard only what is local. What gathers the weights of a sharded model needs every rank: call that
outside of the test, and write its result inside.

A path that holds the rank, the process, a temporary folder or this rank's share of the data is
another file on each rank, and is not reported; neither are calls that choose their writer
themselves, such as `accelerator.save` or `Trainer.save_model`, and `makedirs(..., exist_ok=True)`,
nor what is created, renamed or deleted where `FileNotFoundError` or its like is caught.

## Fix safety

The fix passes `exist_ok=True` where a folder is created. Elsewhere it puts a test for rank 0 around
the statement, in the words of a test that stands in the same function, or of the object through
which the ranks meet there. The test is unsafe: ranks that use the file afterwards may need a
barrier, and each rank may write something of its own on purpose. No test is offered around a call
that is known by its name alone, since it may be a collective.

## Known limits

- A program is taken to be distributed where the function, what it calls or its class tells ranks
  apart or communicates. Where only the surroundings do, or where another caller may keep ranks
  away, the finding is *possible*, which is not shown by default; so it is in a callback, a
  hook or another class that a trainer is given, whose file shows no ranks and is imported by one
  that does.
- A path that comes from outside of the project counts as the same on every rank.

## References

- [PyTorch: saving and loading under DDP](https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints)
- [Lightning issue 1366](https://github.com/Lightning-AI/pytorch-lightning/issues/1366)
- [diffusers issue 4977](https://github.com/huggingface/diffusers/issues/4977)
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
    guard_write,
    let_it_exist,
)

RULE = Rule(
    code="CKP201",
    name="unguarded-checkpoint-write",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.LIKELY,
    fix="sometimes",
    page=__doc__,
)


def check_files(fault: FileFault) -> Finding | None:
    """Report what all ranks, or two of them, do to one file."""
    if fault.kind == "two":
        message = (
            f"rank 0 and rank 1 reach {fault.operation}{fault.chain}, which is for one of them"
        )
        return fault.finding(RULE, message, "let rank 0 alone in")
    if fault.kind != "all":
        return None
    message = f"every rank reaches {fault.operation}{fault.chain} and {fault.does}"
    if fault.call.note:
        message += f"; {fault.call.note}"
    help_ = fault.call.fix or "do it on rank 0 only, behind a barrier if others still use the file"
    if fault.call.effect == "write" and not fault.local:
        help_ = "write on rank 0 only; what gathers a sharded model still needs every rank"
    return fault.finding(RULE, message, help_)


def fix_files(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Let the folder exist, or let one rank do it."""
    yield from let_it_exist(fault, knowledge)
    yield from guard_write(fault, knowledge)
