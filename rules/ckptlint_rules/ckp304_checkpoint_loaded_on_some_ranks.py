"""One rank loads a state and the others never hear of it, or are waited for.

## What it does

Finds loads that every rank must call, and that a rank test keeps from some of them: DeepSpeed's
`load_checkpoint`, Accelerate's `load_state`, `torch.distributed.checkpoint.load`, a Lightning
`Fabric.load`. And `load_state_dict` under a rank test with no collective after it that could bring
the weights to the other ranks.

## Why is this bad?

A collective load waits for the ranks that do not come. Behind a local one the ranks go on with
different weights. Gradients are averaged, weights are not: nothing hangs, the loss looks
plausible, and the model that is saved in the end is not the one that was trained.

## Example

```python
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def resume(net, path):
    model = DistributedDataParallel(net)
    if dist.get_rank() == 0:
        model.load_state_dict(torch.load(path))
    return model
```

## Use instead

```python
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def resume(net, path):
    if dist.get_rank() == 0:
        net.load_state_dict(torch.load(path))
    return DistributedDataParallel(net)  # sends rank 0's weights to all
```

Or let every rank load.

## Fix safety

A collective load is taken out of the test as a collective save is (CKP101). Of a local one the fix
takes the load out of the test for rank 0, with what makes its argument there, so that every rank
loads. That is unsafe: every rank has to be able to read the file, and to hold it.

## Known limits

- A model of which the type is not known gives a finding of confidence *possible*: one that rank 0
  alone keeps (an average of the weights, a teacher) is right to be loaded there alone.
- Any collective after the load counts as sending the weights.

## References

- [PyTorch: DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
- [axolotl pull request 400](https://github.com/axolotl-ai-cloud/axolotl/pull/400)
"""

from __future__ import annotations

from collections.abc import Iterable

from ckptlint.api import (
    Confidence,
    Fault,
    FileFault,
    Finding,
    Knowledge,
    Proposal,
    Rule,
    Severity,
    load_everywhere,
    split_guard,
)

RULE = Rule(
    code="CKP304",
    name="checkpoint-loaded-on-some-ranks",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="sometimes",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report a collective load under a rank test."""
    if fault.divergence.kind not in ("test", "context") or fault.call.effect != "load":
        return None
    message = f"{fault.reaches} {fault.operation}{fault.chain}; {fault.consequence}"
    return fault.finding(RULE, message, fault.call.fix or "call it on every rank")


def fix(fault: Fault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Take the call out of the rank test."""
    return split_guard(fault, knowledge)


def check_files(fault: FileFault) -> Finding | None:
    """Report a load by rank 0 alone."""
    if fault.kind != "load":
        return None
    message = (
        f"only rank 0 reaches {fault.operation}{fault.chain}, and nothing sends the state to the "
        "other ranks afterwards"
    )
    most = Confidence.LIKELY if fault.local else Confidence.POSSIBLE
    confidence = min(fault.confidence, most, key=lambda level: level.level)
    help_ = "load on every rank, or broadcast what rank 0 has loaded"
    return fault.finding(RULE, message, help_, confidence)


def fix_files(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Let every rank load."""
    return load_everywhere(fault, knowledge)
