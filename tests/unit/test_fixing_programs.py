"""Generated programs, run before and after their fix as each rank would run them.

What holds, in every situation (the values of the unknown conditions), for one fix at a time:

- A rank that made the collectives in question does exactly what it did: the same calls, with the
  same arguments, in the same order. That is rank 0 as a rule; where the others wait for it alone,
  or it leaves early, it is they: then rank 0 is the one that has to change.
- Ranks that made the same collectives before make the same ones now, and with the same arguments if
  they had them. One fix cures one fault: where others are left, more cannot be asked.
- Where nothing is found any more, at any confidence, all ranks make the same collectives always,
  and did not in some situation before.
- Under a safe fix the other ranks do nothing else than they did, but for the collectives, and those
  they make with the arguments of the ranks that made them. An unsafe one says what they do besides.

Not asked is when a file is opened that rank 0 writes what it gathers to: behind the gathering, now.
All fixes together come to rest. ``make programs`` tries ten times as many as the suite does.
"""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from fixes import SAFE, UNSAFE, analysed, source_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckptlint.apply import apply_round

COLLECTIVES = ("save_checkpoint", "state_dict", "barrier")
GUARDS = (
    "dist.get_rank() == 0",
    "leads",
    "a and leads",
    "leads and step % 2 == 0",
    "a and dist.get_rank() == 0 and not b",
    "not dist.get_rank()",
    "leads and (n := step) > 1",
    "(n := step) > 1 and leads",
    "(r := dist.get_rank()) == 0",
    "not (a or not leads)",
    "0 == dist.get_rank() < 1",
    "flag",
)
OTHERS = ("dist.get_rank() != 0", "a or not leads", "not (b and leads)", "dist.get_rank() > 0")
HELPER = """\
def keep(engine: DeepSpeedEngine, log, p):
    folder = f"{p}-kept"
    log("keeping", folder)
    os.remove(folder)
    engine.save_checkpoint(folder)
    log("kept")


def settle(log):
    dist.barrier()


"""
EXITS = ("dist.get_rank() != 0", "not leads", "a and not leads", "a or not leads", "leads")
WAYS_OUT = ("return", "return", "return None", "return False", "log('leaving'); return")
MAX_EXAMPLES = int(os.environ.get("CKPTLINT_PROGRAMS", "200"))


def simple(number: int) -> st.SearchStrategy[str]:
    return st.sampled_from(
        [
            f"log({number})",
            f"log({number}, p)",
            f"log({number}, q); log({number}, step)",
            'p = f"{step}"',
            "q = [p]",
            "q = [step]",
            f"p = ask({number})",
            "q.append(step)",
            "engine.save_checkpoint('out')",
            "engine.save_checkpoint(p)",
            "engine.save_checkpoint('out', client_state=q)",
            "p = model.state_dict()",
            f"log({number}, model.state_dict())",
            "dist.barrier()",
            "keep(engine, log, p)",
            "settle(log)",
            "q = [p] if a else [step]",
            "log(1) if b else log(2, p)",
            "a and log(3)",
            "engine.save_checkpoint(f'{p}') if a else log(4)",
            "leads and engine.save_checkpoint(p)",
            "a and leads and dist.barrier()",
            "leads or log(5)",
            "engine.save_checkpoint('out') if leads else log(6)",
            "p = model.state_dict() if leads else None",
            f"log({number}, leads and model.state_dict())",
            f"log({number}, [model.state_dict(), model.state_dict(step)])",
            "step += 1",
            "p: str = model.state_dict()",
            "q = [*q, model.state_dict()]",
            "return model.state_dict()",
            "pass  # nothing",
            "return",
        ]
    )


@st.composite
def blocks(draw: Callable[..., Any], depth: int, indent: str) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3 if depth else 2))):
        kinds = ["if", "elif", "for", "skip", "stop", "try", "last", "rank", "asked", "file"]
        kind = draw(st.sampled_from(["simple"] * 9 + kinds))
        deeper = indent + "    "
        if kind == "simple" or not depth:
            lines.append(indent + draw(simple(draw(st.integers(0, 99)))))
        elif kind == "if":
            lines.append(f"{indent}if {draw(st.sampled_from(['a', 'not b', 'step % 3 == 0']))}:")
            lines += draw(blocks(depth - 1, deeper))
            if draw(st.booleans()):
                lines += [f"{indent}else:", *draw(blocks(depth - 1, deeper))]
        elif kind == "elif":
            lines += [f"{indent}if a:", *draw(blocks(depth - 1, deeper))]
            lines += [f"{indent}elif not b:", *draw(blocks(depth - 1, deeper))]
        elif kind == "skip":
            lines += [f"{indent}for step in range(2):", f"{deeper}if not leads:"]
            lines += [f"{deeper}    continue", *draw(blocks(depth - 1, deeper))]
        elif kind == "rank":
            lines.append(f"{indent}if leads:")
            lines += draw(blocks(depth - 1, deeper))
        elif kind == "for":
            lines += [f"{indent}for step in range(2):", *draw(blocks(depth - 1, deeper))]
        elif kind == "stop":
            lines += [f"{indent}for step in range(2):", f"{deeper}if not leads:"]
            lines += [f"{deeper}    break", *draw(blocks(depth - 1, deeper))]
        elif kind == "asked":
            lines.append(f"{indent}if engine.save_checkpoint(p) and not b:")
            lines += draw(blocks(depth - 1, deeper))
        elif kind == "file":
            lines += [f"{indent}with open(os.devnull) as f:", *draw(blocks(depth - 1, deeper))]
        elif kind == "last":
            lines += [f"{indent}try:", *draw(blocks(depth - 1, deeper))]
            lines += [f"{indent}except OSError:", f"{deeper}log('failed', p)"]
            lines += [f"{indent}finally:", f"{deeper}log('tried')"]
        else:
            lines += [f"{indent}try:", *draw(blocks(depth - 1, deeper))]
            lines += [f"{indent}except OSError:", f"{deeper}log('failed')"]
    return lines


@st.composite
def programs(draw: Callable[..., Any]) -> str:
    shape = draw(st.sampled_from(["guard", "guard", "arms", "other", "elif", "chain", "exit"]))
    guard = draw(st.sampled_from(OTHERS if shape == "other" else GUARDS))
    if shape == "exit":
        lines = [f"    if {draw(st.sampled_from(EXITS))}:"]
        lines.append(f"        {draw(st.sampled_from(WAYS_OUT))}")
        lines += draw(blocks(2, " " * 4))
    elif shape == "chain":
        lines = [f"    if {guard}:", *draw(blocks(2, " " * 8))]
        lines += ["    elif b:", *draw(blocks(1, " " * 8))]
    elif shape == "other":
        lines = [f"    if {guard}:", *draw(blocks(1, " " * 8))]
        lines += ["    else:", *draw(blocks(2, " " * 8))]
    elif shape == "elif":
        lines = ["    if b:", *draw(blocks(1, " " * 8)), f"    elif {guard}:"]
        lines += draw(blocks(2, " " * 8))
    else:
        lines = [f"    if {guard}:", *draw(blocks(2, " " * 8))]
    if shape == "arms":
        lines += ["    else:", *draw(blocks(1, " " * 8))]
    after = draw(st.sampled_from(["log('end')", "log('end', p)", "log('end', q)"]))
    head = "def run(engine: DeepSpeedEngine, model: FSDP, a, b, step, log, ask):"
    before = ["    leads = dist.get_rank() == 0", "    p, q = 'p', ['q']"]
    before.append("    flag = leads and not b")
    return HELPER + "\n".join([head, *before, *lines, f"    {after}", ""])


@dataclass
class Run:
    """What one rank does: every call with its arguments."""

    rank: int
    calls: list[tuple[Any, ...]] = field(default_factory=list)

    def recorder(self, name: str) -> Callable[..., str]:
        def call(*args: object, **kwargs: object) -> str:
            self.calls.append((name, repr(args), repr(kwargs)))
            return f"result of {name}"

        return call

    @property
    def made(self) -> list[str]:
        """The collectives by name."""
        return [call[0] for call in self.calls if call[0] in COLLECTIVES]

    @property
    def meetings(self) -> Counter[tuple[Any, ...]]:
        """The collectives with their arguments, and how often they are made."""
        return Counter(call for call in self.calls if call[0] in COLLECTIVES)

    @property
    def others(self) -> list[tuple[Any, ...]]:
        return [call for call in self.calls if call[0] not in COLLECTIVES]


def run(text: str, rank: int, a: bool, b: bool, step: int) -> Run:
    """Run the function of a program as one rank."""
    record = Run(rank)
    names: dict[str, Any] = {
        "dist": SimpleNamespace(get_rank=lambda: rank, barrier=record.recorder("barrier")),
        "os": SimpleNamespace(remove=record.recorder("remove"), devnull=os.devnull),
        "DeepSpeedEngine": object,
        "FSDP": object,
    }
    functions: list[ast.stmt] = [
        node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)
    ]
    exec(compile(ast.Module(functions, []), "program", "exec"), names)
    engine = SimpleNamespace(save_checkpoint=record.recorder("save_checkpoint"), global_rank=rank)
    model = SimpleNamespace(state_dict=record.recorder("state_dict"))
    names["run"](engine, model, a, b, step, record.recorder("log"), record.recorder("ask"))
    return record


def situations() -> Iterator[tuple[bool, bool, int]]:
    yield from ((a, b, step) for a in (True, False) for b in (True, False) for step in (2, 3, 6))


def examples(number: int) -> settings:
    return settings(
        max_examples=number,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


@examples(MAX_EXAMPLES)
@given(programs())
def test_fixed_programs_do_what_they_did_where_they_met_and_meet_everywhere(text: str) -> None:
    source = source_of(text)
    for finding in analysed(source):
        if finding.fix is None:
            continue
        after = source.edited(finding.fix.edits)
        alone = not analysed(after, doubted=True)
        first_lacks = "rank 0 never" in finding.message or "by rank 0" in finding.message
        had, lacked = (1, 0) if first_lacks else (0, 1)
        met = False
        for situation in situations():
            first, second = (run(source.text, rank, *situation) for rank in (had, lacked))
            third, fourth = (run(after.text, rank, *situation) for rank in (had, lacked))
            assert third.calls == first.calls, after.text
            agreed = first.made == second.made
            assert third.made == fourth.made or not agreed, after.text
            alike = agreed and first.meetings == second.meetings
            assert third.meetings == fourth.meetings or not alike, after.text
            met = met or (third.made == fourth.made and not agreed)
            if finding.fix.applicability is SAFE:
                assert fourth.others == second.others, after.text
                new = fourth.meetings - second.meetings if third.made == fourth.made else Counter()
                assert new <= third.meetings, after.text
            assert third.made == fourth.made or not alone, after.text
        assert met or not alone, after.text


@examples(MAX_EXAMPLES // 10)
@given(programs())
def test_all_fixes_of_a_program_come_to_rest(text: str) -> None:
    source = source_of(text)
    found = analysed(source)
    for _ in range(10):
        applied = apply_round(found, {source.display: source}, (SAFE, UNSAFE), {source.display})
        if not applied.sources:
            break
        [source] = applied.sources.values()
        found = analysed(source)
    assert [finding.fix for finding in found] == [None] * len(found), source.text
    for situation in situations():
        one, two = (run(source.text, rank, *situation) for rank in (0, 1))
        assert one.made == two.made or analysed(source, doubted=True), source.text
