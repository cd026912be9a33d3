"""One rank raises before a collective that the others reach.

## What it does

Finds a `raise`, or a call that ends the process, under a rank test, after which the ranks that go
on reach a collective. It is off by default: select it with `--extend-select CKP110`.

## Why is this bad?

When every rank fails, the job ends and the log says why. When one rank fails, the others wait in
their next collective. A launcher that watches its workers stops the job then; without one, or with
an `except` further out that carries on, the job stands until a timeout ends it, and what is in the
log last is that timeout.

## Example

```python
import os

import torch.distributed as dist


def resume(path):
    if dist.get_rank() == 0:
        if not os.path.exists(path):
            raise FileNotFoundError(path)
    dist.barrier()
```

## Use instead

```python
import os

import torch.distributed as dist


def resume(path):
    found = [os.path.exists(path)]
    dist.broadcast_object_list(found, src=0)
    if not found[0]:
        raise FileNotFoundError(path)
    dist.barrier()
```

`ckptlint_runtime.run_on_rank_zero(fn)` does that for any function: what it raises on rank 0 is
raised on every rank.

## Fix safety

No fix is offered.

## Known limits

- An exception inside a `try` that has an `except` is taken to be caught.
- Only `raise` and calls that end the process are looked at, not calls that may fail.
- An exception in a helper counts when the rank test stands in the helper, or when the helper always
  fails.

## References

- [Lightning pull request 8167](https://github.com/Lightning-AI/pytorch-lightning/pull/8167)
- [VeOmni pull request 1164](https://github.com/ByteDance-Seed/VeOmni/pull/1164)
"""

from __future__ import annotations

from ckptlint.api import Confidence, Fault, Finding, Rule, Severity

RULE = Rule(
    code="CKP110",
    name="raise-before-collective",
    since="0.1.0",
    severity=Severity.WARNING,
    confidence=Confidence.LIKELY,
    fix="none",
    page=__doc__,
    default=False,
)


def check(fault: Fault) -> Finding | None:
    """Report a collective after an exception of some ranks."""
    left = fault.divergence.exit
    if left is None or left.kind != "raise":
        return None
    divergent = fault.divergence.kind == "divergent"
    who = f"a rank that fails because of {fault.reason}" if divergent else fault.waits
    when = "" if divergent else " when it fails before"
    message = f"{fault.operation}{fault.chain} is never reached by {who}{when}; {fault.consequence}"
    return fault.finding(RULE, message, "share the failure, so that every rank raises")
