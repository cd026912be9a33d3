"""``explain``, ``rules`` and ``facts``."""

from __future__ import annotations

import json

import pytest

from ckptlint.catalogue import rules
from workspace import Workspace


@pytest.mark.parametrize("word", ["CKP101", "ckp101", "collective-save-on-some-ranks"])
def test_explain_prints_the_page_of_a_rule(workspace: Workspace, word: str) -> None:
    result = workspace.run("explain", word)
    assert result.exit_code == 0
    assert result.stdout.startswith("# CKP101: collective-save-on-some-ranks\n\n")
    assert rules()["CKP101"].summary in result.stdout


def test_explain_suggests_the_code_that_was_meant(workspace: Workspace) -> None:
    result = workspace.run("explain", "CKP1011")
    assert result.exit_code == 2
    assert "unknown rule code 'CKP1011'; did you mean CKP101?" in result.stderr


def test_rules_lists_every_rule(workspace: Workspace) -> None:
    lines = workspace.run("rules").stdout.splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("CKP")] == [
        [rule.code, rule.name] for rule in rules().values()
    ]


def test_rules_are_listed_for_programs(workspace: Workspace) -> None:
    listed = json.loads(workspace.run("rules", "--output-format", "json").stdout)
    assert [rule["code"] for rule in listed] == list(rules())
    assert set(listed[0]) == {
        "code", "name", "summary", "since", "severity", "confidence", "fix", "default",
    }  # fmt: skip


def test_facts_tell_who_must_call(workspace: Workspace) -> None:
    text = workspace.run("facts", "Accelerator.save_state").stdout
    assert text.startswith("accelerate.Accelerator.save_state\n")
    assert "must call      every rank\n" in text
    assert "if only some   the job hangs under fsdp" in text
    assert "source         accelerate" in text


def test_facts_follow_other_spellings(workspace: Workspace) -> None:
    text = workspace.run("facts", "pytorch_lightning.Trainer.save_checkpoint").stdout
    assert text.startswith("lightning.pytorch.Trainer.save_checkpoint\n")


def test_facts_tell_the_chain_that_leads_to_a_hook(workspace: Workspace) -> None:
    text = workspace.run("facts", "LightningModule.on_save_checkpoint").stdout
    assert "→ dump_checkpoint → on_save_checkpoint" in text
    assert "versions       lightning <0.10" in text


def test_facts_list_all_that_a_name_may_mean(workspace: Workspace) -> None:
    text = workspace.run("facts", "save_checkpoint").stdout
    assert "deepspeed.DeepSpeedEngine.save_checkpoint" in text
    assert "timm.utils.CheckpointSaver.save_checkpoint" in text
    assert "Give more of a name" in text


def test_facts_suggest_the_name_that_was_meant(workspace: Workspace) -> None:
    result = workspace.run("facts", "save_chekpoint")
    assert result.exit_code == 2
    assert "nothing is known of 'save_chekpoint'; did you mean save_checkpoint?" in result.stderr
