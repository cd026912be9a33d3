"""The spellings of a rank test: chains, short circuits, conditional expressions."""

from __future__ import annotations

from fixes import assert_fixed, assert_refused


def test_elif_becomes_else() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, dry):
    if dry:
        print("dry")
    elif dist.get_rank() == 0:
        print("saving")
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, dry):
    if dry:
        print("dry")
    else:
        if dist.get_rank() == 0:
            print("saving")
        engine.save_checkpoint("out")
""",
    )


def test_elif_with_a_condition_stays_one() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, dry, step):
    if dry:
        print("dry")
    # now and then
    elif step % 100 == 0 and dist.get_rank() == 0:
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, dry, step):
    if dry:
        print("dry")
    # now and then
    elif step % 100 == 0:
        engine.save_checkpoint("out")
""",
    )


def test_elif_with_an_else_of_its_own() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, dry):
    if dry:
        print("dry")
    elif dist.get_rank() == 0:
        engine.save_checkpoint("out")
    else:
        print("waiting")
""",
        """\
def save(engine: DeepSpeedEngine, dry):
    if dry:
        print("dry")
    else:
        engine.save_checkpoint("out")
        if dist.get_rank() != 0:
            print("waiting")
""",
    )


def test_elif_in_the_middle_of_a_chain() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, dry, late):
    if dry:
        print("dry")
    elif dist.get_rank() == 0:
        print("saving")
        engine.save_checkpoint("out")
    elif late:
        print("late")
""",
        """\
def save(engine: DeepSpeedEngine, dry, late):
    if dry:
        print("dry")
    else:
        if dist.get_rank() == 0:
            print("saving")
        elif late:
            print("late")
        engine.save_checkpoint("out")
""",
    )


def test_first_of_a_chain() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, late):
    if dist.get_rank() == 0:
        print("saving")
        engine.save_checkpoint("out")
    elif late:
        print("late")
""",
        """\
def save(engine: DeepSpeedEngine, late):
    if dist.get_rank() == 0:
        print("saving")
    elif late:
        print("late")
    engine.save_checkpoint("out")
""",
    )


def test_first_of_a_chain_with_nothing_else_in_it() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, late):
    if dist.get_rank() == 0:
        engine.save_checkpoint("out")
    elif late:
        print("late")
""",
        """\
def save(engine: DeepSpeedEngine, late):
    engine.save_checkpoint("out")
    if dist.get_rank() != 0:
        if late:
            print("late")
""",
    )


def test_short_circuit() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine):
    dist.get_rank() == 0 and engine.save_checkpoint("out")  # now
""",
        """\
def save(engine: DeepSpeedEngine):
    engine.save_checkpoint("out")  # now
""",
    )


def test_short_circuit_with_a_condition() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, on):
        main = dist.get_rank() == 0
        on and main and engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, on):
        main = dist.get_rank() == 0
        if on:
                engine.save_checkpoint("out")
""",
    )


def test_short_circuit_of_the_opposite() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine):
    dist.get_rank() or engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine):
    engine.save_checkpoint("out")
""",
    )


def test_conditional_expression_as_a_statement() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine):
    engine.save_checkpoint("out") if dist.get_rank() == 0 else None
""",
        """\
def save(engine: DeepSpeedEngine):
    engine.save_checkpoint("out")
""",
    )


def test_conditional_expression_with_another_arm() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine):
    engine.save_checkpoint("out") if dist.get_rank() == 0 else print("waiting")
""",
        """\
def save(engine: DeepSpeedEngine):
    engine.save_checkpoint("out")
    if dist.get_rank() != 0:
        print("waiting")
""",
    )


def test_conditional_expression_whose_value_is_used() -> None:
    assert_fixed(
        """\
def save(model: FSDP, path):
    main = dist.get_rank() == 0
    state = model.state_dict() if main else None
    if main:
        torch.save(state, path)
""",
        """\
def save(model: FSDP, path):
    main = dist.get_rank() == 0
    state_dict = model.state_dict()
    state = state_dict if main else None
    if main:
        torch.save(state, path)
""",
    )


def test_conditional_expression_as_an_argument() -> None:
    assert_fixed(
        """\
def save(model: FSDP, box):
    box.put(model.state_dict() if dist.get_rank() == 0 else {})
""",
        """\
def save(model: FSDP, box):
    state_dict = model.state_dict()
    box.put(state_dict if dist.get_rank() == 0 else {})
""",
    )


def test_short_circuit_whose_value_is_used() -> None:
    assert_fixed(
        """\
def save(model: FSDP):
    state = dist.get_rank() == 0 and model.state_dict()
    return state
""",
        """\
def save(model: FSDP):
    state_dict = model.state_dict()
    state = dist.get_rank() == 0 and state_dict
    return state
""",
    )


def test_effect_before_the_collective_in_an_expression_is_refused() -> None:
    assert_refused(
        """\
def save(model: FSDP, box, ask):
    box.put(ask(), model.state_dict() if dist.get_rank() == 0 else {})
"""
    )


def test_walrus_of_the_rank() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine):
    if (rank := dist.get_rank()) == 0:
        print("saving on", rank)
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine):
    rank = dist.get_rank()
    if rank == 0:
        print("saving on", rank)
    engine.save_checkpoint("out")
""",
    )


def test_walrus_of_the_rest() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    if (turn := step % 100) == 0 and dist.get_rank() == 0:
        print("saving", turn)
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, step):
    turn = step % 100
    if turn == 0:
        if dist.get_rank() == 0:
            print("saving", turn)
        engine.save_checkpoint("out")
""",
    )


def test_walrus_that_is_not_always_evaluated_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, step):
    if dist.get_rank() == 0 and (turn := step % 100) == 0:
        print("saving", turn)
        engine.save_checkpoint("out")
"""
    )


def test_path_with_the_rank_in_it_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine):
    rank = dist.get_rank()
    if rank == 0:
        engine.save_checkpoint(f"out/{rank}")
"""
    )


def test_negated_disjunction() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, dry, report):
    if not (dry or dist.get_rank() != 0):
        engine.save_checkpoint("out")
        report("saved")
""",
        """\
def save(engine: DeepSpeedEngine, dry, report):
    if not dry:
        engine.save_checkpoint("out")
        if dist.get_rank() == 0:
            report("saved")
""",
    )


def test_disjunction_around_the_other_arm() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, dry):
    if dry or dist.get_rank() != 0:
        print("not saving")
    else:
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, dry):
    if not dry:
        engine.save_checkpoint("out")
    if dry or dist.get_rank() != 0:
        print("not saving")
""",
    )


def test_conjunction_negated_around_the_other_arm() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, on):
    if not (on and dist.get_rank() == 0):
        pass
    else:
        engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine, on):
    if on:
        engine.save_checkpoint("out")
""",
    )


def test_second_test_of_the_rank_inside_the_first() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine):
    leads = dist.get_rank() == 0
    if dist.get_rank() == 0:
        print("leading")
        if leads:
            print("saving")
            engine.save_checkpoint("out")
            print("saved")
""",
        """\
def save(engine: DeepSpeedEngine):
    leads = dist.get_rank() == 0
    if dist.get_rank() == 0:
        print("leading")
        if leads:
            print("saving")
    engine.save_checkpoint("out")
    if dist.get_rank() == 0:
        if leads:
            print("saved")
""",
    )


def test_second_test_of_the_rank_with_another_arm_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine):
    leads = dist.get_rank() == 0
    if dist.get_rank() == 0:
        if leads:
            engine.save_checkpoint("out")
        else:
            print("never")
"""
    )


def test_other_arm_of_two_conditions() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    if step % 10 == 0 and dist.get_rank() == 0:
        engine.save_checkpoint("out")
    else:
        print("not now")
""",
        """\
def save(engine: DeepSpeedEngine, step):
    if step % 10 == 0:
        engine.save_checkpoint("out")
    if not (step % 10 == 0 and dist.get_rank() == 0):
        print("not now")
""",
    )


def test_other_arm_of_two_conditions_behind_the_rest() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    if step % 10 == 0 and dist.get_rank() == 0:
        print("saving")
        engine.save_checkpoint("out")
    else:
        print("not now")
""",
        """\
def save(engine: DeepSpeedEngine, step):
    if step % 10 == 0 and dist.get_rank() == 0:
        print("saving")
    else:
        print("not now")
    if step % 10 == 0:
        engine.save_checkpoint("out")
""",
    )


def test_other_arm_of_two_conditions_in_front_of_the_rest() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine, step):
    if step % 10 == 0 and dist.get_rank() == 0:
        engine.save_checkpoint("out")
        print("saved")
    else:
        print("not now")
""",
        """\
def save(engine: DeepSpeedEngine, step):
    if step % 10 == 0:
        engine.save_checkpoint("out")
    if step % 10 == 0 and dist.get_rank() == 0:
        print("saved")
    else:
        print("not now")
""",
    )


def test_condition_that_the_arms_change_is_refused() -> None:
    assert_refused(
        """\
def save(engine: DeepSpeedEngine, step):
    if step % 10 == 0 and dist.get_rank() == 0:
        engine.save_checkpoint("out")
    else:
        step = 0
    return step
"""
    )
