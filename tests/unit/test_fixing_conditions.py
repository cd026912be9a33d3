"""Taking the rank out of a condition."""

from __future__ import annotations

from fixes import UNSAFE, assert_fixed, assert_refused


def test_rank_in_front_of_the_condition() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    if dist.get_rank() == 0 and step % 10 == 0:
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, step):
    if step % 10 == 0:
        engine.save_checkpoint("out")
""",
    )


def test_rank_in_the_middle_of_the_condition() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step, on):
    if on and dist.get_rank() == 0 and step % 10 == 0:
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, step, on):
    if on and step % 10 == 0:
        engine.save_checkpoint("out")
""",
    )


def test_condition_in_parentheses_over_lines() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step, on):
    if (
        on  # wanted
        and dist.get_rank() == 0  # the leader
        and step % 10 == 0  # now and then
    ):
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, step, on):
    if (
        on  # wanted
        and step % 10 == 0  # now and then
    ):
        engine.save_checkpoint("out")
""",
    )


def test_last_part_of_a_condition_over_lines() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, on):
    if (
        on  # wanted
        and dist.get_rank() == 0  # the leader
    ):
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, on):
    if (
        on  # wanted
    ):
        engine.save_checkpoint("out")
""",
    )


def test_parentheses_without_need_go() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, on):
    if(on and dist.get_rank() == 0):
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, on):
    if on:
        engine.save_checkpoint("out")
""",
    )


def test_condition_over_lines_with_a_backslash() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, on, step):
    if on and step % 10 == 0 \\
            and dist.get_rank() == 0:
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, on, step):
    if on and step % 10 == 0:
        engine.save_checkpoint("out")
""",
    )


def test_flag_that_holds_the_rank() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    leads = dist.get_rank() == 0
    if step % 10 == 0 and leads:
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, step):
    leads = dist.get_rank() == 0
    if step % 10 == 0:
        engine.save_checkpoint("out")
""",
    )


def test_condition_that_may_differ_between_ranks_is_unsafe() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, loss, best):
    if loss < best and dist.get_rank() == 0:
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, loss, best):
    if loss < best:
        engine.save_checkpoint("out")
""",
        UNSAFE,
        "`loss` must be the same on every rank",
    )


def test_flag_that_holds_more_than_the_rank() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    leads = dist.get_rank() == 0
    saves = leads and step % 10 == 0
    print(saves)
    if saves:
        print("saving")
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, step):
    leads = dist.get_rank() == 0
    saves = leads and step % 10 == 0
    print(saves)
    if step % 10 == 0:
        if leads:
            print("saving")
        engine.save_checkpoint("out")
""",
    )


def test_flag_whose_parts_change_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, step):
    leads = dist.get_rank() == 0
    saves = leads and step % 10 == 0
    step += 1
    if saves:
        engine.save_checkpoint("out", tag=f"{step}")
"""
    )


def test_flag_that_is_set_elsewhere_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, steps):
    saves = dist.get_rank() == 0 and len(steps) > 3
    for step in steps:
        if saves:
            engine.save_checkpoint("out", tag=f"{step}")
"""
    )


def test_flag_that_nobody_else_reads_goes() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    print(step)
    due = step % 10 == 0 and dist.get_rank() == 0
    if due:
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, step):
    print(step)
    if step % 10 == 0:
        engine.save_checkpoint("out")
""",
    )
