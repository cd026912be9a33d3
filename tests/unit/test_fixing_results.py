"""Results that are used, values that are needed, and errors that are handled."""

from __future__ import annotations

from fixes import UNSAFE, assert_fixed, assert_refused


def test_returned_collective() -> None:
    assert_fixed(
        """\
def save(model: FSDP):
    if dist.get_rank() == 0:
        return model.state_dict()
    return {}
""",
        """\
def save(model: FSDP):
    state_dict = model.state_dict()
    if dist.get_rank() == 0:
        return state_dict
    return {}
""",
    )


def test_annotated_result() -> None:
    assert_fixed(
        """\
def save(model: FSDP, path):
    if dist.get_rank() == 0:
        state: dict = model.state_dict()
        torch.save(state, path)
""",
        """\
def save(model: FSDP, path):
    state: dict = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(state, path)
""",
    )


def test_result_in_an_augmented_assignment() -> None:
    assert_fixed(
        """\
def save(model: FSDP, count):
    if dist.get_rank() == 0:
        count += len(model.state_dict())
        print(count)
""",
        """\
def save(model: FSDP, count):
    state_dict = model.state_dict()
    if dist.get_rank() == 0:
        count += len(state_dict)
        print(count)
""",
    )


def test_two_collectives_in_one_statement() -> None:
    assert_fixed(
        """\
def save(model: FSDP, optimizer, path):
    if dist.get_rank() == 0:
        torch.save({"m": model.state_dict(), "o": FSDP.optim_state_dict(model, optimizer)}, path)
""",
        """\
def save(model: FSDP, optimizer, path):
    state_dict = model.state_dict()
    optim_state_dict = FSDP.optim_state_dict(model, optimizer)
    if dist.get_rank() == 0:
        torch.save({"m": state_dict, "o": optim_state_dict}, path)
""",
    )


def test_collective_in_the_arguments_of_another_is_refused() -> None:
    assert_refused(
        """\
def save(model: FSDP, path):
    if dist.get_rank() == 0:
        torch.save(FSDP.optim_state_dict(model, model.state_dict()), path)
"""
    )


def test_collective_in_a_condition() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, report):
    if dist.get_rank() == 0:
        print("saving")
        if not engine.save_checkpoint("out"):
            report("failed")
""",
        """\
def save(engine: DeepSpeedEngine, report):
    if dist.get_rank() == 0:
        print("saving")
    saved = engine.save_checkpoint("out")
    if dist.get_rank() == 0:
        if not saved:
            report("failed")
""",
    )


def test_collective_in_the_condition_of_the_guard() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, report):
    if dist.get_rank() == 0 and not engine.save_checkpoint("out"):
        report("failed")
""",
        """\
def save(engine: DeepSpeedEngine, report):
    saved = engine.save_checkpoint("out")
    if dist.get_rank() == 0 and not saved:
        report("failed")
""",
    )


def test_collective_while_a_file_is_open() -> None:
    assert_fixed(
        """\
def save(model: FSDP, path):
    if dist.get_rank() == 0:
        with open(path, "wb") as file:
            torch.save(model.state_dict(), file)
""",
        """\
def save(model: FSDP, path):
    state_dict = model.state_dict()
    if dist.get_rank() == 0:
        with open(path, "wb") as file:
            torch.save(state_dict, file)
""",
    )


def test_collective_that_is_given_the_open_file_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, path):
    if dist.get_rank() == 0:
        with open(path, "rb") as file:
            engine.save_checkpoint("out", client_state=file)
"""
    )


def test_error_that_is_handled_stays_under_the_test() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, clean):
    if dist.get_rank() == 0:
        try:
            engine.save_checkpoint("out")
        except OSError:
            clean()
""",
        """\
def save(engine: DeepSpeedEngine, clean):
    try:
        engine.save_checkpoint("out")
    except OSError:
        if dist.get_rank() == 0:
            clean()
""",
        UNSAFE,
        "what is to be done where another rank fails alone",
    )


def test_error_that_is_raised_again() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, clean):
    if dist.get_rank() == 0:
        try:
            engine.save_checkpoint("out")
        except OSError:
            clean()
            raise
""",
        """\
def save(engine: DeepSpeedEngine, clean):
    try:
        engine.save_checkpoint("out")
    except OSError:
        if dist.get_rank() == 0:
            clean()
        raise
""",
    )


def test_error_that_makes_a_rank_leave_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, clean):
    if dist.get_rank() == 0:
        try:
            engine.save_checkpoint("out")
        except OSError:
            return False
    return True
"""
    )


def test_collective_in_a_handler_is_refused() -> None:
    assert_refused(
        """\
def save(model: FSDP, engine: DeepSpeedEngine, path):
    if dist.get_rank() == 0:
        try:
            torch.save(model.state_dict(), path)
        except ValueError:
            engine.save_checkpoint(path)
"""
    )


def test_try_with_else_and_finally() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, clean):
    if dist.get_rank() == 0:
        try:
            engine.save_checkpoint("out")
        except OSError:
            print("failed")  # on the terminal
        else:
            print("saved")
        finally:
            clean()
""",
        """\
def save(engine: DeepSpeedEngine, clean):
    try:
        engine.save_checkpoint("out")
    except OSError:
        print("failed")  # on the terminal
    else:
        if dist.get_rank() == 0:
            print("saved")
    finally:
        if dist.get_rank() == 0:
            clean()
""",
    )


def test_value_of_a_call_is_made_on_every_rank() -> None:
    assert_fixed(
        """\
def named(run):
    run.names.append(run.name)
    return run.name


def save(engine: DeepSpeedEngine, run):
    if dist.get_rank() == 0:
        tag = named(run)
        engine.save_checkpoint("out", tag=tag)
""",
        """\
def named(run):
    run.names.append(run.name)
    return run.name


def save(engine: DeepSpeedEngine, run):
    tag = named(run)
    engine.save_checkpoint("out", tag=tag)
""",
        UNSAFE,
        "`named` is called on every rank and must give the same",
    )


def test_value_of_an_unknown_call_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, ask):
    if dist.get_rank() == 0:
        tag = ask("name?")
        engine.save_checkpoint("out", tag=tag)
"""
    )


def test_clock_in_the_tag_is_refused() -> None:
    assert_refused(
        """\
import time


def save(engine: DeepSpeedEngine):
    if dist.get_rank() == 0:
        tag = f"at-{time.time()}"
        engine.save_checkpoint("out", tag=tag)
"""
    )


def test_clock_in_the_argument_is_refused() -> None:
    assert_refused(
        """\
import time


def save(engine: DeepSpeedEngine):
    if dist.get_rank() == 0:
        engine.save_checkpoint("out", tag=f"at-{time.time()}")
"""
    )


def test_value_counted_up_on_the_way() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    if dist.get_rank() == 0:
        print("saving")
        step += 1
        engine.save_checkpoint("out", tag=f"{step}")
""",
        """\
def save(engine: DeepSpeedEngine, step):
    if dist.get_rank() == 0:
        print("saving")
    step += 1
    engine.save_checkpoint("out", tag=f"{step}")
""",
    )


def test_value_made_first_in_a_context() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step, sample):
    if dist.get_rank() == 0:
        print("sampling")

        with torch.no_grad():
            tag = f"step-{step}"
            sample(tag)

        engine.save_checkpoint("out", tag=tag)
""",
        """\
def save(engine: DeepSpeedEngine, step, sample):
    tag = f"step-{step}"
    if dist.get_rank() == 0:
        print("sampling")

        with torch.no_grad():
            sample(tag)

    engine.save_checkpoint("out", tag=tag)
""",
    )


def test_value_made_later_in_a_context_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, step, sample):
    if dist.get_rank() == 0:
        with torch.no_grad():
            sample(step)
            tag = f"step-{step}"
        engine.save_checkpoint("out", tag=tag)
"""
    )


def test_count_made_first_in_a_context() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step, sample):
    if dist.get_rank() == 0:
        with torch.no_grad():
            turn = step // 10
            sample(turn)
        engine.save_checkpoint("out", tag=f"turn-{turn}")
""",
        """\
def save(engine: DeepSpeedEngine, step, sample):
    turn = step // 10
    if dist.get_rank() == 0:
        with torch.no_grad():
            sample(turn)
    engine.save_checkpoint("out", tag=f"turn-{turn}")
""",
    )


def test_number_made_first_in_a_context_is_doubted() -> None:
    assert_fixed(
        """\
def share(values, sample):
    if dist.get_rank() == 0:
        with torch.no_grad():
            scaled = values * 2
            sample(scaled)
        dist.all_reduce(scaled)
""",
        """\
def share(values, sample):
    scaled = values * 2
    if dist.get_rank() == 0:
        with torch.no_grad():
            sample(scaled)
    dist.all_reduce(scaled)
""",
        UNSAFE,
        "`scaled` is now made outside of the context",
    )
