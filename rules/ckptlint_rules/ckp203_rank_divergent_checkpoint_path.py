"""The path of a collective save or load is not the same on every rank.

## What it does

Finds collective saves and loads whose path, folder or tag is computed from the rank, the clock, a
random number, a temporary name or the process; and, as advice (*possible*), folders that every rank
makes under a name that holds the time, and loops in which each rank by itself looks for a name that
no file has yet.

## Why is this bad?

Each rank writes its part of the checkpoint where it was told. Parts that lie in several folders are
no checkpoint: it cannot be loaded, and nobody notices before it is needed. The clock is enough: two
ranks that start a second apart make two folders.

## Example

```python
import time

import torch.distributed.checkpoint as dcp


def save(state):
    dcp.save(state, checkpoint_id=f"checkpoints/{time.strftime('%H%M%S')}")
```

## Use instead

```python
import time

import torch.distributed as dist
import torch.distributed.checkpoint as dcp


def save(state):
    names = [time.strftime("%H%M%S")]
    dist.broadcast_object_list(names, src=0)
    dcp.save(state, checkpoint_id=f"checkpoints/{names[0]}")
```

## Fix safety

Where the clock, chance or the process makes the path differ, the fix broadcasts that of rank 0,
with the object that saves or with `torch.distributed`. It is unsafe: where a caller keeps ranks
away the broadcast hangs, and what was done with the path before was done with another one. A path
that holds the rank, or a temporary folder, is for the author to replace. The runtime's
`agree(value, name)` raises on every rank when they differ.

## Known limits

- A path that comes from outside of the project counts as the same on every rank.
- Who uses a name that was looked for is seen in the function that looks only.

## References

- [PyTorch: distributed checkpoint](https://docs.pytorch.org/docs/stable/distributed.checkpoint.html)
- [PyTorch forum: DCP does not save on all ranks](https://discuss.pytorch.org/t/torch-distributed-dcp-save-does-not-save-on-all-ranks/222561)
- [DeepSpeed pull request 667](https://github.com/deepspeedai/DeepSpeed/pull/667)
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
    share_path,
)

RULE = Rule(
    code="CKP203",
    name="rank-divergent-checkpoint-path",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.LIKELY,
    fix="sometimes",
    page=__doc__,
)

_HELP = "compute the path on rank 0 and broadcast it"
_CHOOSE = "look for the name on rank 0 and broadcast it"


def check_files(fault: FileFault) -> Finding | None:
    """Report a path that is made of what differs between ranks."""
    if fault.kind == "name":
        message = (
            f"every rank reaches {fault.operation}{fault.chain} and looks for a free name by "
            f"itself: what one rank has made is taken for the next"
        )
        return fault.finding(RULE, message, _CHOOSE, Confidence.POSSIBLE)
    if fault.kind != "path":
        return None
    if fault.call.effect == "create":
        message = (
            f"every rank reaches {fault.operation}{fault.chain}, and the name of the folder "
            f"depends on {fault.origins}: ranks that come at another moment make another folder"
        )
        return fault.finding(RULE, message, _HELP, Confidence.POSSIBLE)
    message = (
        f"every rank reaches {fault.operation}{fault.chain}, but its path depends on "
        f"{fault.origins}: the ranks do not mean the same checkpoint"
    )
    return fault.finding(RULE, message, _HELP)


def fix_files(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Broadcast the path from rank 0."""
    if fault.kind == "path" and fault.call.effect != "create":
        yield from share_path(fault, knowledge)
