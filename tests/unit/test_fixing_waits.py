"""Barriers of the other ranks, and broadcasts of what rank 0 has."""

from __future__ import annotations

from fixes import UNSAFE, assert_fixed, assert_refused


def test_others_wait_in_the_other_arm() -> None:
    assert_fixed(
        """\
def prepare(path):
    if dist.get_rank() == 0:
        os.remove(path)
    else:
        dist.barrier()
""",
        """\
def prepare(path):
    if dist.get_rank() == 0:
        os.remove(path)
    dist.barrier()
""",
        UNSAFE,
        "whether this is what the other ranks wait for",
    )


def test_others_wait_in_the_first_arm() -> None:
    assert_fixed(
        """\
def prepare(path):
    if dist.get_rank() != 0:
        dist.barrier()
    else:
        os.remove(path)
""",
        """\
def prepare(path):
    if dist.get_rank() == 0:
        os.remove(path)
    dist.barrier()
""",
        UNSAFE,
        "whether this is what the other ranks wait for",
    )


def test_others_wait_behind_the_work_of_rank_zero() -> None:
    assert_fixed(
        """\
def prepare(path):
    if dist.get_rank() == 0:
        os.remove(path)
    if dist.get_rank() != 0:
        dist.barrier()
""",
        """\
def prepare(path):
    if dist.get_rank() == 0:
        os.remove(path)
    dist.barrier()
""",
        UNSAFE,
        "whether this is what the other ranks wait for",
    )


def test_others_wait_in_front_of_the_work_of_rank_zero() -> None:
    assert_fixed(
        """\
def prepare(path):
    leads = dist.get_rank() == 0
    if not leads:
        dist.barrier()
    print("preparing")
    if leads:
        os.remove(path)  # the old one
""",
        """\
def prepare(path):
    leads = dist.get_rank() == 0
    if not leads:
        dist.barrier()
    print("preparing")
    if leads:
        os.remove(path)  # the old one
        dist.barrier()
""",
        UNSAFE,
        "whether this is what the other ranks wait for",
    )


def test_others_wait_for_what_cannot_be_told_is_refused() -> None:
    assert_refused(
        """\
def prepare(path):
    if dist.get_rank() != 0:
        dist.barrier()
    return os.listdir(path)
"""
    )


def test_others_do_more_than_wait_is_refused() -> None:
    assert_refused(
        """\
def prepare(path):
    if dist.get_rank() == 0:
        os.remove(path)
    else:
        print("waiting")
        dist.barrier()
"""
    )


def test_broadcast_of_what_rank_zero_puts_in() -> None:
    assert_fixed(
        """\
def share(path, box):
    if dist.get_rank() == 0:
        box[0] = os.listdir(path)
        dist.broadcast_object_list(box, src=0)
""",
        """\
def share(path, box):
    if dist.get_rank() == 0:
        box[0] = os.listdir(path)
    dist.broadcast_object_list(box, src=0)
""",
        UNSAFE,
        "whether every rank has a part for dist.broadcast_object_list",
    )


def test_broadcast_of_what_rank_zero_alone_has_is_refused() -> None:
    assert_refused(
        """\
def share(path):
    if dist.get_rank() == 0:
        box = [os.listdir(path)]
        dist.broadcast_object_list(box, src=0)
"""
    )


def test_others_wait_for_what_rank_zero_does_under_a_handler_is_refused() -> None:
    assert_refused(
        """\
def settle():
    dist.barrier()


def prepare(path):
    if dist.get_rank() == 0:
        try:
            os.remove(path)
            settle()
        except OSError:
            print("nothing there")
    else:
        settle()
"""
    )
