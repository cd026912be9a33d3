"""A comment silences a finding that is not there.

## What it does

Finds comments `# ckptlint: ignore[...]`, `# ckptlint: ignore-file[...]` and parts of
`# noqa: ...` that silence no finding, because the code was mended, moved, or never at fault, or
because the code in the comment names no rule.

## Why is this bad?

The comment says that something is wrong here and accepted. When it no longer is, the comment
misleads its reader, and it silences the next fault on the line, which nobody has accepted.

## Example

```python
import deepspeed


def train(engine: deepspeed.DeepSpeedEngine, out):
    engine.save_checkpoint(out)  # ckptlint: ignore[CKP101] the other ranks left long ago
```

## Use instead

```python
import deepspeed


def train(engine: deepspeed.DeepSpeedEngine, out):
    engine.save_checkpoint(out)
```

## Fix safety

The fix is safe: it takes away the comment, or the codes in it that silence nothing, and leaves
every other comment on the line. A code that names no rule is left to its author, who knows which
one was meant.

## Known limits

- Only rules that ran can say that a comment is unused: a suppression of a rule that is off, or
  that is not selected, is left alone, and so is one that names CKP901 itself. A comment without
  codes is judged when all rules ran that are on by default.
- A plain `# noqa` is about other tools and is left alone, and so are the codes of other tools.
- Where a file of the project could not be analysed, no comment is judged.

## References

- [ruff: unused-noqa](https://docs.astral.sh/ruff/rules/unused-noqa/)
- [flake8: selecting and ignoring violations](https://flake8.pycqa.org/en/latest/user/violations.html)
"""

from __future__ import annotations

from ckptlint.api import Confidence, Rule, Severity

RULE = Rule(
    code="CKP901",
    name="unused-suppression",
    since="0.1.0",
    severity=Severity.WARNING,
    confidence=Confidence.CERTAIN,
    fix="sometimes",
    page=__doc__,
)
