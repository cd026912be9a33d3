"""A collective save is called by some ranks only.

## What it does

Finds checkpoint saves that every rank must call, and that a rank test keeps from some of them:
DeepSpeed's `save_checkpoint`, Accelerate's `save_state`, a Lightning `Trainer.save_checkpoint` or
`Fabric.save`, `torch.distributed.checkpoint.save`, the `save_model` of a transformers `Trainer`,
and functions of your own that end in one of these. The test may stand around the save itself,
around a call that leads to it, or in another file.

## Why is this bad?

Such a save looks like `torch.save`, but it is a meeting: each rank writes its own shard, or sends
it to the one that writes, and all wait for each other. Under `if rank == 0:` rank 0 waits for
ranks that never come. The job stands still until a timeout ends it, often half an hour later and
in another call than this one.

Some of these saves hang under a sharded engine only. The message tells the cases apart: the job
hangs; it hangs under DeepSpeed or FSDP; it does not hang, but the checkpoint lacks what the other
ranks did not write.

## Example

```python
import deepspeed
import torch.distributed as dist


def train(model, config, batches):
    engine, _, _, _ = deepspeed.initialize(model=model, config=config)
    for step, batch in enumerate(batches):
        engine.backward(engine(batch))
        engine.step()
        if step % 1000 == 0 and dist.get_rank() == 0:
            engine.save_checkpoint("checkpoints", tag=f"step-{step}")
            print(f"saved step {step}")
```

## Use instead

```python
import deepspeed
import torch.distributed as dist


def train(model, config, batches):
    engine, _, _, _ = deepspeed.initialize(model=model, config=config)
    for step, batch in enumerate(batches):
        engine.backward(engine(batch))
        engine.step()
        if step % 1000 == 0:
            engine.save_checkpoint("checkpoints", tag=f"step-{step}")
            if dist.get_rank() == 0:
                print(f"saved step {step}")
```

The save chooses its writers itself. Only what is yours (the log line, a JSON file) needs the
test.

## Fix safety

The fix takes the rank out of the condition, leaves the rest of it, and keeps under the test what
else stood there. `main and save()`, `save() if main else None`, an `elif`, a second test of the
rank inside the first, a name assigned in the test, and a flag that was set in the same block to the
rank and more are read as the `if` statements that they are short for; a result that is used in the
guarded part is kept under a name. What comes out has been analysed again before it is offered.

Where a helper that also writes files comes to run on every rank, its own effects are put under a
test of rank 0, in whatever file it stands.

The fix is unsafe, and its message names the doubt, where such a helper is changed, where one that
does more than save would now run on every rank, where a value that the save needs is made by a call
that every rank would now make, where an error is handled by more than a message, where the rest of
the condition may differ between ranks, where a name that is read later is now set on every rank, or
where a save hook registered with Accelerate writes files.
None is offered where the other ranks lack a value that the save needs, where its path or tag has
the clock, a random number or the rank in it, where no test of the rank is known in the helper, or
where the save stands in a loop that may be left early.

With `fix-style = "runtime"` it calls `ckptlint_runtime.save_checkpoint` instead where the runtime
can make the save, and lets rank 0 make a value that the save needs for all. That is always unsafe:
what loads the checkpoint has to follow.

## Known limits

- A call that cannot be resolved has no effect: a save behind an untyped parameter is found only
  if its name is one that conventionally holds an engine.
- Which backend runs is often decided at launch. What the project shows (imports, wrappers,
  settings files) decides between error and warning.
- `is_main_process or distributed_type == DistributedType.DEEPSPEED` is no rank test for the
  backend that it names, and is not reported.

## References

- [DeepSpeed: checkpoints](https://deepspeed.readthedocs.io/en/latest/model-checkpointing.html)
- [DeepSpeed issue 2993](https://github.com/deepspeedai/DeepSpeed/issues/2993)
- [Accelerate issue 1171](https://github.com/huggingface/accelerate/issues/1171)
- [diffusers issue 2606](https://github.com/huggingface/diffusers/issues/2606)
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
    code="CKP101",
    name="collective-save-on-some-ranks",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="sometimes",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report a collective save under a rank test."""
    if fault.divergence.kind not in ("test", "context") or fault.call.effect != "save":
        return None
    message = f"{fault.reaches} {fault.operation}{fault.chain}; {fault.consequence}"
    return fault.finding(RULE, message, "call it on every rank; it chooses the writers itself")


def fix(fault: Fault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Take the call out of the rank test."""
    return split_guard(fault, knowledge)
