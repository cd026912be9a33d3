"""A barrier or other collective is reached by some ranks only.

## What it does

Finds barriers, broadcasts, reductions and gathers that some ranks reach and others do not: under
a rank test, on one side of an `if` and not on the other, or once on one side and twice on the
other.

## Why is this bad?

A collective returns when every rank of its group has made it. Ranks that skip it do not only
leave the others waiting: their next collective, of another kind and in another place, is taken
for this one. The job then hangs there, fails there, or goes on with ranks that are one call
apart.

## Example

```python
import torch
import torch.distributed as dist


def save(model, path):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
        dist.barrier()
```

## Use instead

```python
import torch
import torch.distributed as dist


def save(model, path):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()
```

Ranks may meet in different places: `if rank != 0: barrier()`, then work, then `if rank == 0:
barrier()` is one barrier for each rank, and is not reported.

## Fix safety

The fix moves a barrier that stands first or last in the guarded block in front of the test or
behind it. Other collectives are made on every rank, and what else stands in the block keeps its
test and its order. Where the other ranks wait alone for the work of rank 0, in the other arm, in
front of it or behind it, rank 0 meets them behind that work. What comes out has been analysed again
before it is offered.

It is unsafe, and its message names the doubt, where the barrier stands in the middle of the block,
alone in it, in a helper or beside another arm, since the other ranks may have been meant to wait
elsewhere; where the other ranks wait alone; and for collectives that bring a value, for which every
rank must have its part. None is offered where the other ranks lack what the collective needs, or
where it cannot be told what they wait for.

With `fix-style = "runtime"` the one call of rank 0 for which the others wait in the other arm is
run through `ckptlint_runtime.run_on_rank_zero`, at which all wait and hear of its failure. That is
unsafe: what it returns must be JSON.

## Known limits

- A collective on a group of its own under a test of that group's members is right. Where the
  members cannot be told from the source, the finding is *possible*, which is not shown by
  default.
- Sends and receives between two ranks are no collectives and are not looked at.
- Ranks that leave a loop in different turns are found if the rank decides, not if the data does.

## References

- [PyTorch: torch.distributed](https://pytorch.org/docs/stable/distributed.html)
- [Accelerate issue 2733](https://github.com/huggingface/accelerate/issues/2733)
- [transformers issue 998](https://github.com/huggingface/transformers/issues/998)
"""

from __future__ import annotations

from collections.abc import Iterable

from ckptlint.api import (
    Confidence,
    Fault,
    Finding,
    Knowledge,
    Proposal,
    Rule,
    Severity,
    move_barrier,
)

RULE = Rule(
    code="CKP103",
    name="barrier-on-some-ranks",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="sometimes",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report a raw collective under a rank test."""
    if fault.divergence.kind not in ("test", "context"):
        return None
    if fault.call.effect not in ("barrier", "collective"):
        return None
    message = f"{fault.reaches} {fault.operation}{fault.chain}; {fault.consequence}"
    return fault.finding(RULE, message, "move it out of the test, so that every rank reaches it")


def fix(fault: Fault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Take the collective out of the rank test."""
    return move_barrier(fault, knowledge)
