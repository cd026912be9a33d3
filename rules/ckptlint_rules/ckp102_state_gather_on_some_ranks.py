"""State is gathered from all ranks by some ranks only.

## What it does

Finds calls that collect a sharded model or optimizer from every rank, and that a rank test keeps
from some of them: the `state_dict` of an FSDP model, Accelerate's `get_state_dict`,
`get_model_state_dict` of `torch.distributed.checkpoint`, `summon_full_params`,
`GatheredParameters`, `consolidate_state_dict`, `DTensor.full_tensor`.

## Why is this bad?

No rank holds the whole model, so that each must send its part, the ranks that do not write
included. Arguments such as `rank0_only=True` say who receives the result; they do not excuse the
others from the call. Under `if rank == 0:` rank 0 waits for parts that nobody sends, and the
others wait in the next collective that they meet.

Under plain data parallelism the same lines work, because every rank holds everything. The fault
appears on the day the model is sharded.

## Example

```python
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def save(model: FSDP, path):
    if dist.get_rank() == 0:
        state = model.state_dict()
        torch.save(state, path)
```

## Use instead

```python
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def save(model: FSDP, path):
    state = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(state, path)
```

Gather on every rank, write on one.

## Fix safety

The fix moves the gathering in front of the test, together with the assignments that it needs, and
leaves the write under the test. A gathering in the middle of an expression, in the arm of a
conditional one, or while a file is open for it, gets a name of its own in front of the test.
What comes out has been analysed again before it is offered.

It is unsafe, and its message names the doubt, where a helper that does more than gather would now
run on every rank, where an error is handled by more than a message, where the rest of the condition
may differ between ranks, or where a name that is read later is now set on every rank. None is
offered where the other ranks lack a value that the gathering needs, or where something with effects
is evaluated before it.

With `fix-style = "runtime"` a `torch.save` of gathered state becomes a
`ckptlint_runtime.save_checkpoint` of the objects. That is always unsafe: what loads the checkpoint
has to follow.

## Known limits

- `model.state_dict()` is local for a plain or DDP model. It is reported only where the model is
  known to be sharded, or, as a warning, where the call is collective under some backend.
- A gathered state needs memory on every rank that receives it. The rule does not judge whether
  there is enough; options such as `cpu_offload` and `rank0_only` are for that.

## References

- [PyTorch: FullyShardedDataParallel](https://pytorch.org/docs/stable/fsdp.html)
- [PyTorch: distributed checkpoint](https://pytorch.org/docs/stable/distributed.checkpoint.html)
- [PyTorch issue 101294](https://github.com/pytorch/pytorch/issues/101294)
- [Accelerate issue 2690](https://github.com/huggingface/accelerate/issues/2690)
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
    split_guard,
)

RULE = Rule(
    code="CKP102",
    name="state-gather-on-some-ranks",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="sometimes",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report a collective gathering of state under a rank test."""
    if fault.divergence.kind not in ("test", "context") or fault.call.effect != "gather":
        return None
    message = f"{fault.reaches} {fault.operation}{fault.chain}; {fault.consequence}"
    return fault.finding(
        RULE, message, "gather on every rank, before the test; guard only the write"
    )


def fix(fault: Fault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Take the call out of the rank test."""
    return split_guard(fault, knowledge)
