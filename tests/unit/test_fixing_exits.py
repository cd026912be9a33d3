"""Barriers at the edge of a block, and early exits."""

from __future__ import annotations

from fixes import UNSAFE, assert_fixed


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
