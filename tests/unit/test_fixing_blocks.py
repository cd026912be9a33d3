"""Splitting a guarded block around a collective."""

from __future__ import annotations

from fixes import UNSAFE, assert_fixed


def test_block_is_split_around_the_save() -> None:
    assert_fixed(
        """\
def save(accelerator: Accelerator, folder, step, log):
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        # make room
        os.remove("old")

        path = os.path.join(folder, f"step-{step}")
        accelerator.save_state(path)

        # tell it
        log.info(f"saved {path}")
    return step
""",
        """\
def save(accelerator: Accelerator, folder, step, log):
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        # make room
        os.remove("old")

    path = os.path.join(folder, f"step-{step}")
    accelerator.save_state(path)

    if accelerator.is_main_process:
        # tell it
        log.info(f"saved {path}")
    return step
""",
    )


def test_nesting_of_rank_and_step_is_exchanged() -> None:
    assert_fixed(
        """\
def save(accelerator: Accelerator, step, draw):
    if accelerator.is_main_process:
        if step % 10 == 0:
            accelerator.save_state("out")
            print("saved")

        if step % 20 == 0:
            draw()
""",
        """\
def save(accelerator: Accelerator, step, draw):
    if step % 10 == 0:
        accelerator.save_state("out")
        if accelerator.is_main_process:
            print("saved")

    if accelerator.is_main_process:
        if step % 20 == 0:
            draw()
""",
    )


def test_statement_between_two_guarded_ones_comes_first() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    if dist.get_rank() == 0:
        print("saving")
        path = f"out/{step}"
        os.makedirs(path)
        engine.save_checkpoint(path)
""",
        """\
def save(engine: DeepSpeedEngine, step):
    path = f"out/{step}"
    if dist.get_rank() == 0:
        print("saving")
        os.makedirs(path)
    engine.save_checkpoint(path)
""",
    )


def test_two_collectives_under_one_test() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, other: DeepSpeedEngine):
    if dist.get_rank() == 0:
        engine.save_checkpoint("a")
        print("half of it")
        other.save_checkpoint("b")
""",
        """\
def save(engine: DeepSpeedEngine, other: DeepSpeedEngine):
    engine.save_checkpoint("a")
    if dist.get_rank() == 0:
        print("half of it")
    other.save_checkpoint("b")
""",
    )


def test_the_same_test_twice() -> None:
    assert_fixed(
        """\
def save(accelerator: Accelerator, step):
    if step % 2 == 0 and accelerator.is_main_process:
        print("even")
        if accelerator.is_main_process:
            accelerator.save_state("out")
            print("saved")
""",
        """\
def save(accelerator: Accelerator, step):
    if step % 2 == 0:
        if accelerator.is_main_process:
            print("even")
        accelerator.save_state("out")
        if accelerator.is_main_process:
            print("saved")
""",
    )


def test_inner_else_becomes_elif() -> None:
    assert_fixed(
        """\
def save(model: FSDP, peft, other):
    if dist.get_rank() == 0:
        if peft:
            state = model.state_dict()
            torch.save(state, "out")
        else:
            other()
""",
        """\
def save(model: FSDP, peft, other):
    if peft:
        state = model.state_dict()
        if dist.get_rank() == 0:
            torch.save(state, "out")
    elif dist.get_rank() == 0:
        other()
""",
    )


def test_else_that_only_prints_stays_with_the_test() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() == 0:
        engine.save_checkpoint("out")
        print("saved")
    else:
        print("waiting")
""",
        """\
def save(engine: DeepSpeedEngine):
    engine.save_checkpoint("out")
    if dist.get_rank() == 0:
        print("saved")
    else:
        print("waiting")
""",
    )


def test_else_that_passes_goes() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() == 0:
        engine.save_checkpoint("out")
    else:
        pass
""",
        """\
def save(engine: DeepSpeedEngine):
    engine.save_checkpoint("out")
""",
    )


def test_save_in_the_else_arm() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() != 0:
        print("waiting")
    else:
        engine.save_checkpoint("out")
        print("saved")
""",
        """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() != 0:
        print("waiting")
    engine.save_checkpoint("out")
    if dist.get_rank() == 0:
        print("saved")
""",
    )


def test_save_inside_a_try_that_tells() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() == 0:
        try:
            engine.save_checkpoint("out")
            print("saved")
        except OSError as error:
            print(error)
""",
        """\
def save(engine: DeepSpeedEngine):
    try:
        engine.save_checkpoint("out")
        if dist.get_rank() == 0:
            print("saved")
    except OSError as error:
        print(error)
""",
    )


def test_object_that_a_stranger_is_given_is_unsafe() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, state, fill):
    if dist.get_rank() == 0:
        fill(state)
        engine.save_checkpoint("out", client_state=state)
""",
        """\
def save(engine: DeepSpeedEngine, state, fill):
    if dist.get_rank() == 0:
        fill(state)
    engine.save_checkpoint("out", client_state=state)
""",
        UNSAFE,
        "`fill` may change `state`",
    )


def test_name_that_other_ranks_read_later_is_unsafe() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    path = None
    if dist.get_rank() == 0:
        path = f"out/{step}"
        engine.save_checkpoint(path)
    return path
""",
        """\
def save(engine: DeepSpeedEngine, step):
    path = None
    path = f"out/{step}"
    engine.save_checkpoint(path)
    return path
""",
        UNSAFE,
        "its own `path`",
    )


def test_name_that_is_bound_again_before_it_is_read_is_safe() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, steps):
    for step in steps:
        if dist.get_rank() == 0:
            path = f"out/{step}"
            engine.save_checkpoint(path)
    path = "end"
    return path
""",
        """\
def save(engine: DeepSpeedEngine, steps):
    for step in steps:
        path = f"out/{step}"
        engine.save_checkpoint(path)
    path = "end"
    return path
""",
    )


def test_argument_made_by_an_unknown_call_is_unsafe() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, fresh):
    if dist.get_rank() == 0:
        engine.save_checkpoint(fresh())
""",
        """\
def save(engine: DeepSpeedEngine, fresh):
    engine.save_checkpoint(fresh())
""",
        UNSAFE,
        "`fresh` is called on every rank",
    )


def test_hook_that_writes_on_every_rank_is_unsafe() -> None:
    assert_fixed(
        """\
accelerator = Accelerator()


def write(models, weights, folder):
    models[0].save_pretrained(folder)


accelerator.register_save_state_pre_hook(write)


def save():
    if accelerator.is_main_process:
        accelerator.save_state("out")
""",
        """\
accelerator = Accelerator()


def write(models, weights, folder):
    models[0].save_pretrained(folder)


accelerator.register_save_state_pre_hook(write)


def save():
    accelerator.save_state("out")
""",
        UNSAFE,
        "the save hook `write`",
    )
