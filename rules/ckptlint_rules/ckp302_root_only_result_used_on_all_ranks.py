"""What only the root rank receives is used by the others.

## What it does

Finds results of collectives that only one rank receives (a reduce or gather to the root, a full
state that is gathered on rank 0 only) where the other ranks write them, load them or hand them
on.

## Why is this bad?

The other ranks hold nothing, or what they had before. They raise an exception, after which the
root waits for them in the next collective, or they go on with other weights than the root.

## Example

```python
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict


def copy(model, other: nn.Module):
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    state = get_model_state_dict(model, options=options)
    dist.barrier()
    other.eval().load_state_dict(state)
```

## Use instead

```python
import torch.distributed as dist
import torch.nn as nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict


def copy(model, other: nn.Module):
    options = StateDictOptions(full_state_dict=True)  # whole on every rank
    state = get_model_state_dict(model, options=options)
    dist.barrier()
    other.eval().load_state_dict(state)
```

## Fix safety

Where the result is written, the fix puts a test for rank 0 around the statement, as that of
[CKP201](CKP201.md) does. Elsewhere none is offered: whether every rank needs the result, or rank 0
alone should use it, is for the author to say.

## Known limits

- Only writes and loads are looked at. A decision on such a result is [CKP109](CKP109.md).

## References

- [PyTorch: torch.distributed.checkpoint.state_dict](https://docs.pytorch.org/docs/stable/distributed.checkpoint.html)
- [PyTorch issue 77562](https://github.com/pytorch/pytorch/issues/77562)
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
)

RULE = Rule(
    code="CKP302",
    name="root-only-result-used-on-all-ranks",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.LIKELY,
    fix="sometimes",
    page=__doc__,
)


def check_files(fault: FileFault) -> Finding | None:
    """Report a use on the ranks that received nothing."""
    if fault.kind != "root":
        return None
    message = (
        f"every rank reaches {fault.operation}{fault.chain} with {fault.reason}; "
        "the others have nothing to give it"
    )
    help_ = "use it on the root only, or let every rank receive it"
    return fault.finding(RULE, message, help_)


def fix_files(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Write it on the rank that has it."""
    if fault.call.effect == "write":
        yield from guard_write(fault, knowledge)
