"""A sharded state is written as if it were whole.

## What it does

Finds calls that write the `state_dict()` of a model whose parameters are sharded tensors
(`fully_shard`) to one file, without a gather before.

## Why is this bad?

Such a `state_dict()` is local: it holds the shards of this rank. Nothing hangs and a file
appears, but what the other ranks had is not in it. That is noticed when the checkpoint is needed.

## Example

```python
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def train(model, path):
    model = fully_shard(model)
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
```

## Use instead

```python
import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard


def train(model, path):
    model = fully_shard(model)
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    state = get_model_state_dict(model, options=options)  # on every rank
    if dist.get_rank() == 0:
        torch.save(state, path)
```

`torch.distributed.checkpoint.save` on every rank writes the shards as they are.

## Fix safety

Where rank 0 writes under a test of its rank, the fix gathers the state on every rank, in front of
the test or where each rank took its shards. It is unsafe: where a caller keeps ranks away the
gather hangs, and what else is saved, as the state of the optimizer, may be in shards as well. Where
every rank writes, none is offered.

## Known limits

- A model that was sharded in another function, or in place without its result being used, is not
  known to be sharded.
- What DeepSpeed's ZeRO-3 leaves in `engine.module`, or in what `unwrap_model` gives, is told where
  the project shows ZeRO-3, as *possible* only: which stage runs is often decided at launch. A write
  behind a gather of the parameters is right.

## References

- [PyTorch: getting started with fully_shard](https://docs.pytorch.org/tutorials/intermediate/FSDP_tutorial.html)
- [transformers pull request 23111](https://github.com/huggingface/transformers/pull/23111)
"""

from __future__ import annotations

from collections.abc import Iterable

from ckptlint.api import (
    Confidence,
    FileFault,
    Finding,
    Knowledge,
    Proposal,
    Rule,
    Severity,
    gather_first,
)

RULE = Rule(
    code="CKP301",
    name="sharded-state-saved-ungathered",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.LIKELY,
    fix="sometimes",
    page=__doc__,
)


def check_files(fault: FileFault) -> Finding | None:
    """Report a write of shards under a path that names no rank."""
    if fault.kind != "shard":
        return None
    if fault.under:
        return _of_a_backend(fault) if fault.under & fault.backends else None
    message = (
        f"{fault.operation}{fault.chain} writes {fault.reason} as if it were the whole; "
        "what the other ranks have is lost"
    )
    return fault.finding(RULE, message, "gather the state on every rank, then write it on rank 0")


def _of_a_backend(fault: FileFault) -> Finding:
    """Report what the backend leaves on this rank; which one runs is often decided at launch."""
    message = (
        f"{fault.operation}{fault.chain} writes {fault.reason}, which under {fault.under_words} "
        "is a part of the whole; what the other ranks have is lost"
    )
    help_ = "let the framework gather on every rank, and write its result on rank 0"
    return fault.finding(RULE, message, help_, Confidence.POSSIBLE)


def fix_files(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Gather the state on every rank, and write it on one."""
    return () if fault.under else gather_first(fault, knowledge)
