"""A value that ranks do not share decides whether a collective is reached.

## What it does

Finds collectives, saves and gathers behind a test whose value each rank computes for itself, with
no rank in its text: the clock, random numbers, a loss or metric that was not reduced, the result of
a reduction to one rank, what lies on the disk, an exception that was caught. How many turns of a
loop fall to a rank is such a value too, and whether a rank has anything to give where it is
collected what each has.

## Why is this bad?

The test looks the same on every rank, and nearly always comes out the same, until one clock is a
second behind, or one rank's share of the data gives a slightly better loss. Then some ranks save,
or leave the loop, and the others do not. Such a job hangs once in days.

## Example

```python
import time

import torch.distributed as dist
import torch.distributed.checkpoint as dcp


def train(state, batches, step, limit):
    start = time.time()
    for batch in batches:
        step(batch)
        if time.time() - start > limit:
            dcp.save(state, checkpoint_id="out")
            break
```

## Use instead

```python
import time

import torch.distributed as dist
import torch.distributed.checkpoint as dcp


def train(state, batches, step, limit):
    start = time.time()
    for batch in batches:
        step(batch)
        late = [time.time() - start > limit]
        dist.broadcast_object_list(late, src=0)
        if late[0]:
            dcp.save(state, checkpoint_id="out")
            break
```

The result of a broadcast or of a reduction to all ranks is the same everywhere, and a test of it is
not reported. `ckptlint_runtime.agree(value, name)` checks that all ranks hold the same value.

## Fix safety

No fix is offered: which rank is to decide, or how the values are to be combined, is for the author
to say.

## Known limits

- A finding is *likely* at most, and *possible*, which is not shown by default, for what usually is
  the same everywhere: files on a shared disk, random numbers in a project that sets a seed,
  exceptions, a loss of unknown data.
- What an unknown function makes of such a value counts as equal on every rank.
- Of loops that turn more often on some ranks those are found over what is dealt out by the rank,
  as `range(rank, count, world_size)` and `items[rank::world_size]`. A count is taken to be no
  multiple of the step unless it was made one.

## References

- [PyTorch issue 77562](https://github.com/pytorch/pytorch/issues/77562)
- [SpeechBrain pull request 2192](https://github.com/speechbrain/speechbrain/pull/2192)
- [Lightning issue 379](https://github.com/Lightning-AI/pytorch-lightning/issues/379)
"""

from __future__ import annotations

from ckptlint.api import Confidence, Fault, Finding, Rule, Severity

RULE = Rule(
    code="CKP109",
    name="collective-behind-divergent-decision",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.LIKELY,
    fix="none",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report a collective that a value decides on which ranks may disagree."""
    left = fault.divergence.exit
    if fault.divergence.kind != "divergent" or (left is not None and left.kind == "raise"):
        return None
    message = (
        f"whether a rank reaches {fault.operation}{fault.chain} depends on {fault.reason}; "
        f"where ranks disagree, {fault.consequence}"
    )
    cure = "let one rank decide and broadcast it, or reduce the value over all ranks"
    if fault.uneven:
        cure = "give every rank the same number of turns, filled up where there is nothing to do"
    return fault.finding(RULE, message, cure)
