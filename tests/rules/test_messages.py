"""What findings say: which ranks do what, through which calls, and what follows from it."""

from __future__ import annotations

import pytest

from cases import FIXTURES, Case, findings
from ckptlint.analysis.ranks import FIRST, NODE_LEADER, OTHER, RankClass
from ckptlint.fault import who


def message(name: str) -> str:
    """Return the message of the only finding of a fixture."""
    path = FIXTURES / name
    (finding,) = findings(Case(path if path.is_dir() else path.with_suffix(".py")))
    return finding.message


def places(name: str) -> list[tuple[str, int, str]]:
    """Return the related places of the only finding of a fixture."""
    path = FIXTURES / name
    (finding,) = findings(Case(path if path.is_dir() else path.with_suffix(".py")))
    return [(place.span.path, place.span.line, place.message) for place in finding.related]


@pytest.mark.parametrize(
    ("name", "ranks"),
    [
        ("CKP101/bad_rank_comparison", "only rank 0 reaches engine.save_checkpoint"),
        ("CKP101/bad_local_rank", "only the first rank of each node reaches"),
        ("CKP101/bad_off_by_one", "rank 0 never reaches engine.save_checkpoint"),
        ("CKP104/bad_continue", "skipped by every other rank, which leaves by `continue`"),
        ("CKP104/bad_break", "skipped by rank 0, which leaves by `break`"),
        ("CKP103/bad_last_rank", "only the last rank reaches dist.barrier"),
        ("CKP103/bad_first_of_eight", "only the first rank of each node reaches dist.barrier"),
        ("CKP108/bad_swapped_arms", "dist.all_reduce meets another collective on every other"),
        ("CKP108/bad_barrier_too_early", "dist.barrier meets another collective on rank 0;"),
    ],
)
def test_the_message_names_the_ranks(name: str, ranks: str) -> None:
    assert ranks in message(name)


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ((FIRST, NODE_LEADER), "the first rank of each node"),
        ((OTHER, NODE_LEADER), "every other rank"),
        ((OTHER, FIRST, NODE_LEADER), "a part of the ranks"),
    ],
)
def test_ranks_are_named_in_few_words(ranks: tuple[RankClass, ...], words: str) -> None:
    assert who(ranks) == words


def test_a_test_is_told_by_the_rank_that_stays_away() -> None:
    assert places("CKP103/bad_answered_by_nobody") == [
        ("bad_answered_by_nobody.py", 7, "true on rank 0 only")
    ]


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("CKP101/bad_rank_comparison", "; the job hangs"),
        ("CKP101/bad_async_distributed_checkpoint", "; the job hangs in a later collective"),
        (
            "CKP101/bad_step_and_main_process",
            "; this hangs under FSDP, FSDP2, DeepSpeed or Megatron-LM, and elsewhere leaves the "
            "checkpoint incomplete (each rank writes its own random state)",
        ),
        ("CKP101/bad_transformers_world_process_zero", "; this hangs under FSDP, FSDP2, "),
    ],
)
def test_the_message_tells_the_outcomes_apart(name: str, outcome: str) -> None:
    assert outcome in message(name)


def test_a_helper_in_another_file_is_named_and_its_call_shown() -> None:
    name = "CKP101/bad_helper_in_other_file"
    assert "engine.save_checkpoint through keep()" in message(name)
    assert places(name) == [
        ("train.py", 13, "true on rank 0 only"),
        ("utils.py", 6, "engine.save_checkpoint is called here"),
    ]


def test_every_call_on_the_way_is_named_and_shown() -> None:
    name = "CKP103/bad_pair_with_guarded_call"
    assert "through evaluate() → load_examples()" in message(name)
    assert [line for _, line, _ in places(name)] == [25, 20, 15]


def test_the_calls_by_which_every_rank_comes_to_a_file_are_shown() -> None:
    calls = places("CKP201/bad_helper_of_a_helper")
    assert ("bad_helper_of_a_helper.py", 14, "every rank calls it here") in calls


def test_the_exit_comes_before_the_test_that_leads_to_it() -> None:
    assert places("CKP104/bad_early_return") == [
        ("bad_early_return.py", 13, "every other rank leaves here (return)"),
        ("bad_early_return.py", 12, "true on every other rank"),
    ]


@pytest.mark.parametrize(
    "name", ["CKP105/bad_pinned_lightning", "CKP105/bad_pinned_lightning_callback"]
)
def test_the_frameworks_way_to_a_hook_is_told(name: str) -> None:
    chain = (
        "ModelCheckpoint.on_validation_end → _save_model → save_checkpoint → dump_checkpoint "
        "→ on_save_checkpoint"
    )
    assert chain in message(name)


def test_a_neighbour_that_makes_the_same_call_on_every_rank_is_named() -> None:
    name = "CKP101/bad_sibling_script"
    assert message(name).endswith("; train_image.py calls it on every rank")


def test_a_neighbour_that_tests_the_rank_as_well_is_not_named() -> None:
    assert "on every rank" not in message("CKP101/bad_helper_in_other_file")
