"""A file or function could not be analysed.

## What it does

Says of a file, or of one function in it, that nothing is known about it: the file cannot be read,
is not text in its encoding, is not Python that this interpreter parses, or is nested too deeply;
the function has more paths than can be compared. All other files are analysed as usual.

## Why is this bad?

A file that is passed over in silence looks like a file without faults.

## Example

```python
def save(engine, rank):
    print "saving on", rank
    engine.save_checkpoint("out")
```

## Use instead

```python
def save(engine, rank):
    print("saving on", rank)
    engine.save_checkpoint("out")
```

A file that is not meant to be analysed (written in Python 2, a template) belongs into `exclude`
in `[tool.ckptlint]`.

## Fix safety

No fix is offered.

## Known limits

- Only files that can matter are parsed: those that name something which differs between ranks,
  and what they call. Of a broken file that nothing asks for, nothing is said.
- Syntax that is newer than the interpreter which runs ckptlint cannot be parsed. Run ckptlint
  with the Python for which the project is written, or a later one.

## References

- [PEP 263: encodings of source files](https://peps.python.org/pep-0263/)
- [What is new in Python](https://docs.python.org/3/whatsnew/index.html)
"""

from __future__ import annotations

from ckptlint.api import Confidence, Rule, Severity

RULE = Rule(
    code="CKP900",
    name="file-not-analysed",
    since="0.1.0",
    severity=Severity.ERROR,
    confidence=Confidence.CERTAIN,
    fix="none",
    page=__doc__,
)
