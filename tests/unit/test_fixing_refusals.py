"""What no fix is offered for."""

from __future__ import annotations

from fixes import assert_refused


def test_else_that_communicates_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, values):
    if dist.get_rank() == 0:
        engine.save_checkpoint("out")
    else:
        dist.all_reduce(values)
"""
    )


def test_else_that_returns_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() == 0:
        engine.save_checkpoint("out")
    else:
        return
"""
    )


def test_value_of_a_loop_under_the_test_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, names):
    if dist.get_rank() == 0:
        for tag in names:
            print(tag)
        engine.save_checkpoint("out", tag)
"""
    )


def test_argument_changed_on_rank_zero_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, state, step):
    if dist.get_rank() == 0:
        state["step"] = step
        engine.save_checkpoint("out", client_state=state)
"""
    )


def test_argument_updated_in_place_on_rank_zero_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, state, step):
    if dist.get_rank() == 0:
        state.update(step=step)
        engine.save_checkpoint("out", client_state=state)
"""
    )


def test_return_before_the_collective_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, found):
    if dist.get_rank() == 0:
        if found:
            return
        engine.save_checkpoint("out")
"""
    )


def test_condition_with_effects_behind_the_rank_test_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, ask):
    if dist.get_rank() == 0 and ask("save?"):
        engine.save_checkpoint("out")
"""
    )


def test_condition_on_the_disk_inside_the_rank_test_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() == 0:
        if not os.path.exists("out"):
            engine.save_checkpoint("out")
"""
    )


def test_rank_test_changed_in_the_block_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine):
    rank = dist.get_rank()
    if rank == 0:
        print("saving")
        engine.save_checkpoint("out")
        rank = None
"""
    )


def test_gather_under_a_condition_of_its_own_is_refused() -> None:
    assert_refused(
        """\
def save(model: FSDP, whole):
    if dist.get_rank() == 0:
        torch.save(model.state_dict() if whole else None, "out")
"""
    )


def test_gather_in_a_lambda_argument_after_an_effect_is_refused() -> None:
    assert_refused(
        """\
def save(model: FSDP, ask):
    if dist.get_rank() == 0:
        torch.save(ask("path?"), model.state_dict())
"""
    )


def test_loop_that_is_left_early_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, tags):
    if dist.get_rank() == 0:
        for tag in tags:
            engine.save_checkpoint("out", tag)
            if tag == "last":
                break
"""
    )


def test_comment_of_a_dropped_line_is_not_lost() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() == 0:
        pass  # type: ignore[unreachable]
        engine.save_checkpoint("out")
"""
    )


def test_helper_that_writes_under_a_test_of_another_rank_is_refused() -> None:
    assert_refused(
        """\
def keep(engine: DeepSpeedEngine, model):
    torch.save(model, "model.pt")
    engine.save_checkpoint("out")


def save(engine: DeepSpeedEngine, model):
    if dist.get_rank() == dist.get_world_size() - 1:
        keep(engine, model)
"""
    )


def test_helper_that_leaves_for_a_reason_of_its_own_is_refused() -> None:
    assert_refused(
        """\
def keep(engine: DeepSpeedEngine, model, wanted):
    if not wanted():
        return
    torch.save(model, "model.pt")
    engine.save_checkpoint("out")


def save(engine: DeepSpeedEngine, model, wanted):
    if dist.get_rank() == 0:
        keep(engine, model, wanted)
"""
    )


def test_helper_of_a_helper_that_writes_without_a_known_test_is_refused() -> None:
    assert_refused(
        """\
def inner(accelerator: Accelerator):
    accelerator.save_state("out")


def keep(accelerator: Accelerator, model):
    torch.save(model, "model.pt")
    inner(accelerator)


def save(accelerator: Accelerator, model):
    if accelerator.is_last_process:
        keep(accelerator, model)
"""
    )


def test_barrier_of_the_other_ranks_is_refused() -> None:
    assert_refused(
        """\
def save():
    if dist.get_rank() != 0:
        dist.barrier()
"""
    )


def test_early_return_out_of_a_nested_block_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine):
    with torch.no_grad():
        if dist.get_rank() != 0:
            return
        print("saving")
    engine.save_checkpoint("out")
"""
    )


def test_decorator_without_a_known_test_is_refused() -> None:
    assert_refused(
        """\
from lightning.pytorch.utilities import rank_zero_only as main_only


@main_only
def report(values):
    print("waiting")
    dist.barrier()
"""
    )


def test_decorated_function_on_one_line_is_refused() -> None:
    assert_refused(
        """\
@rank_zero_only
def wait(): dist.barrier()
"""
    )
