"""An early exit takes some ranks past a collective.

## What it does

Finds a `return`, `break` or `continue` under a rank test after which the ranks that stay reach a
collective: a barrier at the end of the function, a save in the rest of the loop's turn, a gather
in the caller's next line.

## Why is this bad?

The collective is not under any test, so that it looks right where it stands. But the ranks that
have left never come to it, and the others wait for them. An early return is the commonest way to
write "only rank 0 from here on", and every line below it is then under that test.

## Example

```python
import torch
import torch.distributed as dist


def save(model, path):
    if dist.get_rank() != 0:
        return
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

## Fix safety

The fix takes the exit away and puts what is meant for the remaining ranks alone into an if-block,
up to the collective, which every rank then reaches. An exit that returns a value, or skips more
than its own block, moves behind the last collective in its block instead. What comes out has been
analysed again before it is offered.

It is unsafe, and its message names the doubt, where a name that is read later is now set on every
rank, where a helper that does more than communicate would now run on every rank, or where ranks
that left a loop by `break` would now take all its turns. None is offered where the exit is not the
end of what stands under the test, or where the collective stands in another block than the exit.

## Known limits

- A path that ends in `raise` or in the end of the process is no path: the ranks on it do not
  wait.
- An exit that depends on data, on the clock or on an exception is not looked at by this rule.

## References

- [PyTorch: torch.distributed](https://pytorch.org/docs/stable/distributed.html)
- [sparsify pull request 5](https://github.com/EleutherAI/sparsify/pull/5)
- [sleap-nn pull request 437](https://github.com/talmolab/sleap-nn/pull/437)
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
    keep_going,
)

RULE = Rule(
    code="CKP104",
    name="collective-skipped-by-early-exit",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="sometimes",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report a collective after an early exit of some ranks."""
    left = fault.divergence.exit
    if fault.divergence.kind != "exit" or left is None or left.kind == "raise":
        return None
    if fault.ends_loop:
        message = (
            f"{fault.operation}{fault.chain} is skipped by {fault.waits}, for which the loop ends "
            f"before it; {fault.consequence}"
        )
        return fault.finding(RULE, message, "let one rank decide, and broadcast what it decided")
    message = (
        f"{fault.operation}{fault.chain} is skipped by {fault.waits}, which leaves by "
        f"`{left.kind}` before it; {fault.consequence}"
    )
    return fault.finding(
        RULE, message, "put what follows the test into an if-block, so that all ranks go on"
    )


def fix(fault: Fault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Put what the exit kept to some ranks under a test, and let all go on."""
    return () if fault.ends_loop else keep_going(fault, knowledge)
