"""A wrapped model is run, stepped or evaluated on some ranks only.

## What it does

Finds the forward pass, `generate`, `backward`, `step` or evaluation of a model that was wrapped for
distributed training (DDP, FSDP, DeepSpeed and others) under a rank test.

## Why is this bad?

Running a wrapped model looks like a local computation, but the wrapper communicates. A model
sharded by FSDP or ZeRO-3 gathers the parameters of each layer from all ranks; DDP broadcasts the
buffers of the model (those of batch normalisation, for instance) at the start of a forward pass, in
eval mode too, and reduces gradients in the backward pass. A validation on rank 0 alone then waits
for ranks that are already in the next epoch.

## Example

```python
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def sample(model, prompt):
    model = FSDP(model)
    if dist.get_rank() == 0:
        print(model.generate(prompt))
```

## Use instead

```python
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def sample(model, prompt):
    model = FSDP(model)
    text = model.generate(prompt)
    if dist.get_rank() == 0:
        print(text)
```

Under DDP the inner model may be run on one rank: `model.module(batch)` communicates nothing.

## Fix safety

No fix is offered: running the model on every rank also needs every rank to have the data.

## Known limits

- The type of the model must be known: from its wrapper, an annotation, or a usual name in a file
  that imports the framework.
- The finding is *possible*, which is not shown by default, when nothing in the project shows a
  backend under which the call communicates: DDP broadcasts nothing for a model without buffers.
- Ranks that run the model a different number of times, because their data has another length, are
  not found.

## References

- [PyTorch issue 54059](https://github.com/pytorch/pytorch/issues/54059)
- [PyTorch: Fully Sharded Data Parallel](https://pytorch.org/docs/stable/fsdp.html)
- [DeepSpeed issue 860](https://github.com/deepspeedai/DeepSpeed/issues/860)
"""

from __future__ import annotations

from dataclasses import replace

from ckptlint.api import Confidence, Fault, Finding, Rule, Severity

RULE = Rule(
    code="CKP106",
    name="sharded-forward-on-some-ranks",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="none",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report a wrapped model that is run under a rank test."""
    if fault.divergence.kind not in ("test", "context") or fault.call.effect != "forward":
        return None
    message = f"{fault.reaches} {fault.operation}{fault.chain}; {fault.consequence}"
    finding = fault.finding(RULE, message, fault.call.fix or "run it on every rank")
    if fault.severity is not Severity.ERROR:
        finding = replace(finding, confidence=Confidence.POSSIBLE)
    return finding
