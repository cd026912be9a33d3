"""Gathering in front of the write, and names for what is gathered."""

from __future__ import annotations

from fixes import assert_fixed


def test_gather_in_the_arguments_gets_a_name() -> None:
    assert_fixed(
        """\
def save(model: FSDP, path):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
""",
        """\
def save(model: FSDP, path):
    state_dict = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(state_dict, path)
""",
    )


def test_name_in_use_is_not_taken() -> None:
    assert_fixed(
        """\
def save(model: FSDP, state_dict):
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict(), "old": state_dict}, "out")
""",
        """\
def save(model: FSDP, state_dict):
    gathered_state_dict = model.state_dict()
    if dist.get_rank() == 0:
        torch.save({"model": gathered_state_dict, "old": state_dict}, "out")
""",
    )


def test_same_call_twice_is_made_twice() -> None:
    assert_fixed(
        """\
def save(model: FSDP):
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "a")
        torch.save(model.state_dict(), "b")
""",
        """\
def save(model: FSDP):
    gathered_state_dict = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(gathered_state_dict, "a")
    state_dict = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(state_dict, "b")
""",
    )


def test_context_is_entered_by_every_rank() -> None:
    assert_fixed(
        """\
def norm(net):
    model = FSDP(net)
    if dist.get_rank() == 0:
        with FSDP.summon_full_params(model, writeback=False):
            print(sum(p.norm() for p in model.parameters()))
""",
        """\
def norm(net):
    model = FSDP(net)
    with FSDP.summon_full_params(model, writeback=False):
        if dist.get_rank() == 0:
            print(sum(p.norm() for p in model.parameters()))
""",
    )
