"""One rank of every node writes the same file.

## What it does

Finds writes under a test of the rank *within the node* (`local_rank == 0`), whose path is the same
on every node, and those in a context that lets the first rank of each node go first.

## Why is this bad?

There is one such rank on each node. On one node all is well; on two, with a file system that they
share, two ranks write the same file at the same time.

## Example

```python
import os

import torch


def save(model, path):
    if int(os.environ["LOCAL_RANK"]) == 0:
        torch.save(model.state_dict(), path)
```

## Use instead

```python
import os

import torch


def save(model, path):
    if int(os.environ["RANK"]) == 0:
        torch.save(model.state_dict(), path)
```

Where every node has a disk of its own and each needs the file, the test is right. Say which it is
in the settings: `shared-filesystem = true` makes these findings *likely*, `false` switches them
off. Without the setting they are *possible*, which is not shown by default.

## Fix safety

The fix tests the rank in the whole job, with the predicate that the same object or environment has,
or with `torch.distributed` where the file imports it. It is unsafe: whether the nodes share a file
system does not stand in the source, and what else is under the test may be for every node.

## Known limits

- A folder that is named after the node only in the settings of the job is not seen.

## References

- [PyTorch issue 12042](https://github.com/pytorch/pytorch/issues/12042)
- [PyTorch examples issue 655](https://github.com/pytorch/examples/issues/655)
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
    ask_the_global_rank,
)

RULE = Rule(
    code="CKP204",
    name="wrong-rank-guards-shared-write",
    since="0.1.0",
    severity=Severity.WARNING,
    confidence=Confidence.LIKELY,
    fix="sometimes",
    page=__doc__,
)


def check_files(fault: FileFault) -> Finding | None:
    """Report a write by one rank of every node."""
    if fault.kind != "node" or fault.shared is False:
        return None
    message = (
        f"the first rank of every node reaches {fault.operation}{fault.chain} and {fault.does}, "
        "if the nodes share a file system"
    )
    confidence = Confidence.LIKELY if fault.shared else Confidence.POSSIBLE
    return fault.finding(RULE, message, "test the global rank", confidence)


def fix_files(fault: FileFault, knowledge: Knowledge) -> Iterable[Proposal]:
    """Test the rank in the job."""
    return ask_the_global_rank(fault, knowledge)
