"""What the comparison of rank classes says of one function, and what it is silent about."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import ckptlint_rules
from ckptlint.engine import Request, analyse
from ckptlint.finding import Confidence, Finding
from ckptlint.source import Source

FACTS = ckptlint_rules.facts()
DEFAULT = [code for code, module in ckptlint_rules.RULES.items() if module.rule.default]
HEAD = "import os\nimport torch.distributed as dist\n\n"


def told(body: str) -> list[Finding]:
    """Analyse one file; return what is shown by default."""
    text = HEAD + textwrap.dedent(body)
    source = Source(Path("/project/train.py"), "train.py", text.encode())
    request = Request([source], {"train.py"}, Path("/project"), FACTS, DEFAULT)
    return [f for f in analyse(request) if f.confidence is not Confidence.POSSIBLE]


def codes(body: str) -> list[str]:
    return [finding.code for finding in told(body)]


SILENT = {
    "complementary arms": """
        def f():
            if dist.get_rank() == 0:
                prepare()
                dist.barrier()
            else:
                dist.barrier()
    """,
    "others wait first, rank 0 last": """
        def f():
            if dist.get_rank() != 0:
                dist.barrier()
            prepare()
            if dist.get_rank() == 0:
                dist.barrier()
    """,
    "a pair around one unchanged condition": """
        def f(cached):
            if not cached and dist.get_rank() != 0:
                dist.barrier()
            prepare()
            if not cached and dist.get_rank() == 0:
                dist.barrier()
    """,
    "the other half of the pair stands in the caller": """
        def others_wait():
            if dist.get_rank() != 0:
                dist.barrier()

        def f():
            others_wait()
            prepare()
            if dist.get_rank() == 0:
                dist.barrier()
    """,
    "every exit passes the barrier": """
        def f():
            if dist.get_rank() != 0:
                dist.barrier()
                return
            prepare()
            dist.barrier()
    """,
    "a rank that raises is no path": """
        def f(path):
            if dist.get_rank() == 0 and not os.path.exists(path):
                raise FileNotFoundError(path)
            dist.barrier()
    """,
    "each rank has its turn": """
        def f():
            for turn in range(dist.get_world_size()):
                if dist.get_rank() == turn:
                    write()
                    dist.barrier()
    """,
    "a uniform early exit": """
        def f(step):
            if step % 100:
                return
            dist.barrier()
    """,
    "a member of the sub-group": """
        def f(group, members):
            if dist.get_rank() in members:
                dist.barrier(group=group)
    """,
    "rank 0 asks again while the others wait in the broadcast": """
        def f():
            while True:
                if dist.get_rank() == 0:
                    line = [input()]
                    if not line[0]:
                        continue
                    dist.broadcast_object_list(line)
                else:
                    line = [None]
                    dist.broadcast_object_list(line)
    """,
}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT.keys())
def test_balanced_code_is_silent(body: str) -> None:
    assert told(body) == []


FOUND = {
    "an uneven pair": (
        """
        def f(cached):
            if not cached and dist.get_rank() != 0:
                dist.barrier()
            prepare()
            if dist.get_rank() == 0:
                dist.barrier()
        """,
        ["CKP103"],
    ),
    "an exit in a loop": (
        """
        def f(batches):
            for batch in batches:
                if dist.get_rank() != 0:
                    continue
                dist.all_reduce(batch)
        """,
        ["CKP104"],
    ),
    "a loop that rank 0 leaves alone": (
        """
        def f(batches):
            for batch in batches:
                dist.all_reduce(batch)
                if dist.get_rank() == 0 and stop(batch):
                    break
        """,
        ["CKP104"],
    ),
    "a short circuit": ("def f():\n    dist.get_rank() == 0 and dist.barrier()\n", ["CKP103"]),
    "a conditional expression": (
        "def f(t):\n    return dist.all_reduce(t) if dist.get_rank() == 0 else None\n",
        ["CKP103"],
    ),
    "an environment variable": (
        "def f():\n    if int(os.environ['RANK']) == 0:\n        dist.barrier()\n",
        ["CKP103"],
    ),
    "the first rank of each node": (
        "def f():\n    if int(os.environ['LOCAL_RANK']) == 0:\n        dist.barrier()\n",
        ["CKP103"],
    ),
    "different collectives in the arms": (
        """
        def f(t):
            if dist.get_rank() == 0:
                dist.all_reduce(t)
            else:
                dist.barrier()
        """,
        ["CKP108"],
    ),
}


@pytest.mark.parametrize(("body", "expected"), FOUND.values(), ids=FOUND.keys())
def test_one_fault_is_told_once(body: str, expected: list[str]) -> None:
    assert codes(body) == expected


def test_a_message_says_which_ranks_do_what() -> None:
    (finding,) = told("def f():\n    if dist.get_rank() == 0:\n        dist.barrier()\n")
    assert finding.message == "only rank 0 reaches dist.barrier; the job hangs"
    assert [(r.span.line, r.message) for r in finding.related] == [(5, "true on rank 0 only")]


def test_a_node_leader_is_named() -> None:
    (finding,) = told("def f():\n    if os.environ['LOCAL_RANK'] == '0':\n        dist.barrier()\n")
    assert "only the first rank of each node reaches" in finding.message


def test_a_number_is_never_equal_to_an_environment_string() -> None:
    assert told("def f():\n    if os.environ['RANK'] == 0:\n        dist.barrier()\n") == []


def test_results_do_not_depend_on_the_order_of_files() -> None:
    helper = "import torch.distributed as dist\n\ndef wait():\n    dist.barrier()\n"
    caller = (
        "import torch.distributed as dist\nfrom helper import wait\n\n"
        "def f():\n    if dist.get_rank() == 0:\n        wait()\n"
    )
    sources = [
        Source(Path("/project/helper.py"), "helper.py", helper.encode()),
        Source(Path("/project/train.py"), "train.py", caller.encode()),
    ]
    results = [
        analyse(
            Request(
                order,
                {"helper.py", "train.py"},
                Path("/project"),
                FACTS,
                list(ckptlint_rules.RULES),
            )
        )
        for order in (sources, sources[::-1])
    ]
    assert results[0] == results[1]
    assert [(f.span.path, f.span.line) for f in results[0]] == [("train.py", 6)]


def test_methods_that_all_call_one_another_are_analysed() -> None:
    """Every way through a recursion is not executed anew: their number doubles with each method."""
    count = 18
    methods = "\n".join(
        f"    def step_{index}(self, again=0):\n"
        f"        self.step_{(index + 1) % count}()\n"
        f"        self.step_{(index + 1) % count}(1)\n"
        f"        dist.get_rank()\n"
        for index in range(count)
    )
    body = f"class Steps:\n{methods}\n    def run(self):\n        self.step_0()\n"
    body += "        if dist.get_rank() == 0:\n            dist.barrier()\n"
    assert codes(body) == ["CKP103"]
