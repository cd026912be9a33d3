"""What a fix does to the text: its bytes, comments and layout."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fixes import PATH, analysed, assert_fixed

from ckptlint.source import Source

ONE_LINE = """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() == 0: print("é"); engine.save_checkpoint("ö"); print("ü")  # done
"""
ONE_LINE_AFTER = """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() == 0:
        print("é")
    engine.save_checkpoint("ö")
    if dist.get_rank() == 0:
        print("ü")  # done
"""


def test_one_line_with_semicolons_and_letters_of_two_bytes() -> None:
    assert_fixed(ONE_LINE, ONE_LINE_AFTER)


def test_one_line_keeps_its_shape_where_only_the_condition_changes() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, on):
    if on and dist.get_rank() == 0: engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, on):
    if on: engine.save_checkpoint("out")
""",
    )


def test_multiline_strings_are_not_moved() -> None:
    assert_fixed(
        '''\
def save(engine: DeepSpeedEngine, step):
    if dist.get_rank() == 0:
        text = f"""
  step {step:>{len("x")}} {f"{step}"}
        end"""
        engine.save_checkpoint("out", text)
        print("""
        saved
""")
''',
        '''\
def save(engine: DeepSpeedEngine, step):
    text = f"""
  step {step:>{len("x")}} {f"{step}"}
        end"""
    engine.save_checkpoint("out", text)
    if dist.get_rank() == 0:
        print("""
        saved
""")
''',
    )


def test_arguments_over_lines_follow_their_statement() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    if dist.get_rank() == 0:
        engine.save_checkpoint(
            "out",  # the folder
            tag=f"{step}",
        )
        # the end
    return step
""",
        """\
def save(engine: DeepSpeedEngine, step):
    engine.save_checkpoint(
        "out",  # the folder
        tag=f"{step}",
    )
    # the end
    return step
""",
    )


def test_comment_behind_the_test_survives() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    if dist.get_rank() == 0:  # pragma: no cover
        engine.save_checkpoint("out")
    return step
""",
        """\
def save(engine: DeepSpeedEngine, step):
    # pragma: no cover
    engine.save_checkpoint("out")
    return step
""",
    )


def test_type_comment_survives() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    if dist.get_rank() == 0:
        path = f"out/{step}"  # type: str
        engine.save_checkpoint(path)
""",
        """\
def save(engine: DeepSpeedEngine, step):
    path = f"out/{step}"  # type: str
    engine.save_checkpoint(path)
""",
    )


def test_file_without_a_last_line_end() -> None:
    before = """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() == 0:
        engine.save_checkpoint("out")
"""
    after = """\
def save(engine: DeepSpeedEngine):
    engine.save_checkpoint("out")
"""
    assert_fixed(before.rstrip(), after.rstrip())


def test_statement_at_the_top_of_the_file() -> None:
    assert_fixed(
        """\
if dist.get_rank() == 0:
    print("before")
    dist.barrier()
""",
        """\
if dist.get_rank() == 0:
    print("before")
dist.barrier()
""",
    )


SPLIT = """\
import torch.distributed as dist
from deepspeed import DeepSpeedEngine


def save(engine: DeepSpeedEngine, step):
    if step % 10 == 0 and dist.get_rank() == 0:
        # first
        print("saving")
        engine.save_checkpoint("out")
        print("saved")  # last
    return step
"""
SPLIT_AFTER = """\
import torch.distributed as dist
from deepspeed import DeepSpeedEngine


def save(engine: DeepSpeedEngine, step):
    if step % 10 == 0:
        if dist.get_rank() == 0:
            # first
            print("saving")
        engine.save_checkpoint("out")
        if dist.get_rank() == 0:
            print("saved")  # last
    return step
"""


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.encode(), id="plain"),
        pytest.param(lambda text: text.replace("\n", "\r\n").encode(), id="crlf"),
        pytest.param(lambda text: text.replace("    ", "\t").encode(), id="tabs"),
        pytest.param(lambda text: text.replace("    ", "  ").encode(), id="two spaces"),
        pytest.param(lambda text: text.encode("utf-8-sig"), id="byte-order mark"),
        pytest.param(lambda text: text.replace("\n\n\n", "\n\n\f\n").encode(), id="form feed"),
        pytest.param(
            lambda text: f"# coding: latin-1\n# é\n{text}".encode("latin-1"), id="latin-1"
        ),
    ],
)
def test_bytes_around_and_style_inside_are_kept(change: Callable[[str], bytes]) -> None:
    before, after = Source(PATH, PATH.name, change(SPLIT)), change(SPLIT_AFTER)
    [finding] = analysed(before)
    assert finding.fix is not None
    assert before.edited(finding.fix.edits).data == after


def test_lines_that_end_in_carriage_returns_alone_are_left() -> None:
    [finding] = analysed(Source(PATH, PATH.name, SPLIT.replace("\n", "\r").encode()))
    assert finding.fix is None
