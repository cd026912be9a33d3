"""Ranks reach different collectives in the same place.

## What it does

Finds places where every rank communicates, but not by the same call: the arms of a rank test hold
different collectives, the same ones in another order, or groups of other members; or one rank goes
first through a block in which it waits for all.

## Why is this bad?

Collectives are matched by their order, not by their names. When one rank gathers while the others
are in a barrier, the backend pairs the two: the job hangs, or stops with an error about sizes, or
the data of one call is taken for that of the other.

## Example

```python
import torch
import torch.distributed as dist


def share(rank, loss, weights):
    if dist.get_rank() == 0:
        dist.all_reduce(loss)
        dist.broadcast(weights, src=0)
    else:
        dist.broadcast(weights, src=0)
        dist.all_reduce(loss)
```

## Use instead

```python
import torch
import torch.distributed as dist


def share(rank, loss, weights):
    dist.all_reduce(loss)
    dist.broadcast(weights, src=0)
```

The same call may stand in both arms, with other arguments: a broadcast that sends in one arm and
receives in the other is one meeting.

## Fix safety

No fix is offered: which order is meant cannot be read from the source.

## Known limits

- A finding about collectives on groups of their own is *possible* at most, which is not shown by
  default.
- A `main_process_first` whose block holds a collective is found, a barrier in it is not: the ranks
  pass that, only not one after the other.
- Loops over a set, whose order differs by rank, and two threads that use one group are not found
  yet.

## References

- [PyTorch: torch.distributed](https://pytorch.org/docs/stable/distributed.html)
- [Accelerate issue 2690](https://github.com/huggingface/accelerate/issues/2690)
- [apex issue 19](https://github.com/NVIDIA/apex/issues/19)
"""

from __future__ import annotations

from ckptlint.api import Confidence, Fault, Finding, Rule, Severity

RULE = Rule(
    code="CKP108",
    name="collectives-out-of-order",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="none",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report ranks that meet in different collectives."""
    if fault.divergence.kind != "order":
        return None
    if fault.divergence.test.kind == "context":
        message = (
            f"{fault.operation} lets one rank go through a block in which it waits for all of "
            f"them; {fault.consequence}"
        )
        return fault.finding(RULE, message, "take the collective out of the block")
    message = (
        f"{fault.operation}{fault.chain} meets another collective on {fault.waits}; "
        f"{fault.consequence}"
    )
    return fault.finding(RULE, message, "make every rank reach the same collectives in one order")
