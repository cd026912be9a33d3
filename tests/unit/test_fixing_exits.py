"""Barriers at the edge of a block, and early exits."""

from __future__ import annotations

from fixes import UNSAFE, assert_fixed, assert_refused


def test_barrier_at_the_end_of_the_block() -> None:
    assert_fixed(
        """\
def save(model):
    if dist.get_rank() == 0:
        torch.save(model, "out")
        dist.barrier()
""",
        """\
def save(model):
    if dist.get_rank() == 0:
        torch.save(model, "out")
    dist.barrier()
""",
    )


def test_barrier_alone_in_the_block_is_unsafe() -> None:
    assert_fixed(
        """\
def wait():
    if dist.get_rank() == 0:
        dist.barrier()
""",
        """\
def wait():
    dist.barrier()
""",
        UNSAFE,
        "whether the other ranks were to wait here",
    )


def test_early_return_becomes_a_test() -> None:
    assert_fixed(
        """\
def save(model):
    # the leader writes
    if dist.get_rank() != 0:
        return

    for name in model:
        torch.save(model[name], name)
    dist.barrier()
""",
        """\
def save(model):
    # the leader writes
    if dist.get_rank() == 0:
        for name in model:
            torch.save(model[name], name)
    dist.barrier()
""",
    )


def test_continue_becomes_a_test() -> None:
    assert_fixed(
        """\
def train(engine: DeepSpeedEngine, epochs):
    for epoch in epochs:
        if not dist.get_rank() == 0:
            continue
        print(epoch)
        engine.save_checkpoint("out", f"{epoch}")
    print("done")
""",
        """\
def train(engine: DeepSpeedEngine, epochs):
    for epoch in epochs:
        if dist.get_rank() == 0:
            print(epoch)
        engine.save_checkpoint("out", f"{epoch}")
    print("done")
""",
    )


def test_barrier_in_the_middle_of_the_block_parts_it() -> None:
    assert_fixed(
        """\
def save(model):
    if dist.get_rank() == 0:
        torch.save(model, "a.pt")
        dist.barrier()
        torch.save(model, "b.pt")
""",
        """\
def save(model):
    if dist.get_rank() == 0:
        torch.save(model, "a.pt")
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(model, "b.pt")
""",
        UNSAFE,
        "whether the other ranks were to wait here",
    )


def test_reduction_is_made_on_every_rank() -> None:
    assert_fixed(
        """\
def tell(loss):
    if dist.get_rank() == 0:
        total = torch.ones(1)
        dist.all_reduce(total)
        print(total)
""",
        """\
def tell(loss):
    total = torch.ones(1)
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        print(total)
""",
        UNSAFE,
        "(check first: whether every rank has a part for dist.all_reduce)",
    )


def test_exit_behind_other_statements() -> None:
    assert_fixed(
        """\
def save(model, path):
    if dist.get_rank() != 0:
        print("waiting")
        return
    torch.save(model.state_dict(), path)
    dist.barrier()
""",
        """\
def save(model, path):
    if dist.get_rank() != 0:
        print("waiting")
    else:
        torch.save(model.state_dict(), path)
    dist.barrier()
""",
    )


def test_exit_on_a_line_with_another_statement() -> None:
    assert_fixed(
        """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() != 0:
        print("waiting"); return
    engine.save_checkpoint("out")
""",
        """\
def save(engine: DeepSpeedEngine):
    if dist.get_rank() != 0:
        print("waiting")
    engine.save_checkpoint("out")
""",
    )


def test_exit_of_rank_zero_behind_its_work() -> None:
    assert_fixed(
        """\
def save(model, path):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
        return
    print("waiting")
    dist.barrier()
""",
        """\
def save(model, path):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    else:
        print("waiting")
    dist.barrier()
""",
    )


def test_exit_with_another_arm() -> None:
    assert_fixed(
        """\
def save(model, path):
    if dist.get_rank() != 0:
        return
    else:
        torch.save(model.state_dict(), path)
    dist.barrier()
""",
        """\
def save(model, path):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()
""",
    )


def test_exit_with_a_value_goes_behind_the_barrier() -> None:
    assert_fixed(
        """\
def save(model, path):
    if dist.get_rank() != 0:
        return False
    torch.save(model.state_dict(), path)
    dist.barrier()
    print("saved")
    return True
""",
        """\
def save(model, path):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()
    if dist.get_rank() != 0:
        return False
    print("saved")
    return True
""",
    )


def test_exit_at_the_end_of_nested_blocks() -> None:
    assert_fixed(
        """\
def save(model, path, wanted):
    if wanted:
        with torch.no_grad():
            if dist.get_rank() != 0:
                return
            torch.save(model.state_dict(), path)
            dist.barrier()
""",
        """\
def save(model, path, wanted):
    if wanted:
        with torch.no_grad():
            if dist.get_rank() == 0:
                torch.save(model.state_dict(), path)
            dist.barrier()
""",
    )


def test_exit_of_all_ranks_behind_that_of_some() -> None:
    assert_fixed(
        """\
def save(model, path, wanted):
    if dist.get_rank() != 0:
        return
    if not wanted:
        return
    torch.save(model.state_dict(), path)
    dist.barrier()
""",
        """\
def save(model, path, wanted):
    if not wanted:
        return
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()
""",
    )


def test_exit_of_all_ranks_with_a_value_is_refused() -> None:
    assert_refused(
        """\
def save(model, path, wanted):
    if dist.get_rank() != 0:
        return
    if not wanted:
        return 1
    torch.save(model.state_dict(), path)
    dist.barrier()
"""
    )


def test_break_takes_ranks_out_of_the_loop() -> None:
    assert_fixed(
        """\
def save(model, paths):
    for path in paths:
        if dist.get_rank() != 0:
            break
        torch.save(model.state_dict(), path)
        dist.barrier()
""",
        """\
def save(model, paths):
    for path in paths:
        if dist.get_rank() == 0:
            torch.save(model.state_dict(), path)
        dist.barrier()
""",
        UNSAFE,
        "every rank now takes all turns of the loop",
    )


def test_break_out_of_a_loop_with_an_else_is_refused() -> None:
    assert_refused(
        """\
def save(model, paths):
    for path in paths:
        if dist.get_rank() != 0:
            break
        torch.save(model.state_dict(), path)
        dist.barrier()
    else:
        print("all saved")
"""
    )


def test_continue_behind_other_statements() -> None:
    assert_fixed(
        """\
def save(model, paths):
    for path in paths:
        if dist.get_rank() != 0:
            print("skipping", path)
            continue
        torch.save(model.state_dict(), path)
        dist.barrier()
""",
        """\
def save(model, paths):
    for path in paths:
        if dist.get_rank() != 0:
            print("skipping", path)
        else:
            torch.save(model.state_dict(), path)
        dist.barrier()
""",
    )


def test_what_the_exit_depends_on_changes_is_refused() -> None:
    assert_refused(
        """\
def save(model, path):
    rank = dist.get_rank()
    if rank != 0:
        return False
    rank = 1
    dist.barrier()
    return rank
"""
    )


def test_test_of_order_in_other_words() -> None:
    assert_fixed(
        """\
def save(model, path):
    if dist.get_rank() > 0:
        return
    torch.save(model.state_dict(), path)
    dist.barrier()
""",
        """\
def save(model, path):
    if dist.get_rank() <= 0:
        torch.save(model.state_dict(), path)
    dist.barrier()
""",
    )


def test_exit_goes_behind_where_other_exits_follow() -> None:
    assert_fixed(
        """\
def save(model, path, old):
    if dist.get_rank() != 0:
        return
    torch.save(model.state_dict(), path)
    dist.barrier()
    if not old:
        return
    os.remove(old)
""",
        """\
def save(model, path, old):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    dist.barrier()
    if dist.get_rank() != 0:
        return
    if not old:
        return
    os.remove(old)
""",
    )
