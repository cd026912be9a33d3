"""A process group is created, or a model is wrapped, on some ranks only.

## What it does

Finds set-up that all ranks must do together under a rank test: `init_process_group`, `new_group`,
device meshes, the constructors of DDP and FSDP, `deepspeed.initialize`, `Accelerator.prepare`, and
constructors of checkpoint managers that synchronise.

## Why is this bad?

A constructor does not look like communication, but these compare shapes, broadcast parameters or
count groups. `new_group` has a rule of its own: ranks that are not in the new group must call it
too. Where only the members do, the ranks count their groups apart from then on, and what hangs is a
later group that all of them create.

## Example

```python
import torch.distributed as dist


def pair():
    group = None
    if dist.get_rank() in (0, 1):
        group = dist.new_group([0, 1])
    return group
```

## Use instead

```python
import torch.distributed as dist


def pair():
    group = dist.new_group([0, 1])
    return group if dist.get_rank() in (0, 1) else None
```

A loop over all lists of ranks that creates each group on every rank, and keeps the one that this
rank is in, is right and is not reported.

## Fix safety

No fix is offered: the objects made are used under the same test, and what the other ranks are to do
with theirs is for the author to say.

## Known limits

- `new_group(..., use_local_synchronization=True)` needs the members only and is not reported.
- Arms of a rank test that both create a group are taken as one meeting, whatever their members.

## References

- [PyTorch: torch.distributed.new_group](https://pytorch.org/docs/stable/distributed.html)
- [PyTorch issue 25390](https://github.com/pytorch/pytorch/issues/25390)
- [Ignite issue 2035](https://github.com/pytorch/ignite/issues/2035)
"""

from __future__ import annotations

from ckptlint.api import Confidence, Fault, Finding, Rule, Severity

RULE = Rule(
    code="CKP107",
    name="group-setup-on-some-ranks",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="none",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report distributed set-up under a rank test."""
    if fault.divergence.kind not in ("test", "context") or fault.call.effect != "setup":
        return None
    message = f"{fault.reaches} {fault.operation}{fault.chain}; {fault.consequence}"
    return fault.finding(RULE, message, fault.call.fix or "call it on every rank")
