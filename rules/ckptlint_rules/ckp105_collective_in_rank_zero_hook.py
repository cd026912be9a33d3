"""A hook or decorated function that runs on one rank communicates.

## What it does

Finds collectives in code that something else keeps to one rank: a function under
`@rank_zero_only` or `@accelerator.on_main_process`, a function passed to a helper that calls it
on the main process, and a hook that a framework runs on rank 0 only, in the releases that do so.

## Why is this bad?

Inside the function there is no rank test to be seen. The decorator stands above it, perhaps on
the base class, or the decision is in the framework: until pytorch-lightning 0.10 the trainer
called `on_save_checkpoint` on rank 0 only. A gather in such a hook waits for ranks that never
enter it.

## Example

```python
import lightning as L
from lightning.pytorch.utilities import rank_zero_only


class KeepScores(L.Callback):
    @rank_zero_only
    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        scores = pl_module.all_gather(pl_module.scores)
        checkpoint["scores"] = scores
        print("scores kept")
```

## Use instead

```python
import lightning as L


class KeepScores(L.Callback):
    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        scores = pl_module.all_gather(pl_module.scores)
        checkpoint["scores"] = scores
        if trainer.is_global_zero:
            print("scores kept")
```

## Fix safety

The fix takes the decorator off the function and puts its local side effects under a rank test
instead. What comes out has been analysed again before it is offered.

It is unsafe, and its message names the doubt, where something else in the function would now run on
every rank. None is offered for a decorator of your own, for a function that is handed to a helper,
or for a hook that the framework itself keeps to one rank: there the cure is a newer release, or
another hook.

## Known limits

- Which ranks run a hook depends on the release. Without a lock file, requirement or
  `pyproject.toml` that pins one, the newest known release is assumed.
- A decorator of your own is followed if its source is in the project. One from a package that
  ckptlint does not know is taken to change nothing; declare it in `[tool.ckptlint]`.

## References

- [Lightning issue 3545](https://github.com/Lightning-AI/pytorch-lightning/issues/3545)
- [Lightning pull request 3688](https://github.com/Lightning-AI/pytorch-lightning/pull/3688)
- [SpeechBrain issue 2401](https://github.com/speechbrain/speechbrain/issues/2401)
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
    free_hook,
)

RULE = Rule(
    code="CKP105",
    name="collective-in-rank-zero-hook",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="sometimes",
    page=__doc__,
)


def check(fault: Fault) -> Finding | None:
    """Report a collective in code that a decorator or a framework runs on one rank."""
    if fault.divergence.kind not in ("decorator", "hook", "wrapper"):
        return None
    message = f"{fault.reaches} {fault.operation}{fault.chain}; {fault.consequence}"
    return fault.finding(RULE, message, "run the function on every rank and guard only its writes")


def fix(fault: Fault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Take the decorator off and guard the function's own effects."""
    return free_hook(fault, knowledge)
