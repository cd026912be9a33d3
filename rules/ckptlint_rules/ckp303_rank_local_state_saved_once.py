"""The random state of one rank is saved for all.

## What it does

Finds calls under a rank test that write the state of a random number generator.

## Why is this bad?

Every rank draws its own dropout masks, shuffles and augmentations. When only rank 0's state is in
the checkpoint, a resumed run either gives all ranks the same numbers or goes on with others than
before: the run cannot be repeated, and ranks that draw alike learn less from their data.

## Example

```python
import torch
import torch.distributed as dist


def save(model, path):
    state = {"model": model.state_dict(), "rng": torch.get_rng_state()}
    if dist.get_rank() == 0:
        torch.save(state, path)
```

## Use instead

```python
import torch
import torch.distributed as dist


def save(model, path):
    states = [None] * dist.get_world_size()
    dist.all_gather_object(states, torch.get_rng_state())
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict(), "rng": states}, path)
```

One file per rank, named after the rank, does as well.

## Fix safety

No fix is offered: what loads the checkpoint has to change with it.

## Known limits

- Where every rank is meant to draw the same numbers, one state is enough; suppress the finding
  there.
- A state that is put into a dictionary whose keys are computed is not followed.

## References

- [PyTorch: reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html)
- [accelerate: what save_state writes](https://huggingface.co/docs/accelerate/usage_guides/checkpoint)
"""

from __future__ import annotations

from ckptlint.api import Confidence, FileFault, Finding, Rule, Severity

RULE = Rule(
    code="CKP303",
    name="rank-local-state-saved-once",
    since="0.1.0",
    severity=Severity.WARNING,
    confidence=Confidence.LIKELY,
    fix="none",
    page=__doc__,
)


def check_files(fault: FileFault) -> Finding | None:
    """Report a random state that is written by one rank."""
    if fault.kind != "state":
        return None
    message = (
        f"only rank 0 reaches {fault.operation}{fault.chain} and writes {fault.reason}; "
        "the other ranks have states of their own, which are lost"
    )
    return fault.finding(
        RULE, message, "gather the states of all ranks, or write one file per rank"
    )
