"""Comments that silence findings, as users write, keep and lose them."""

from __future__ import annotations

import json

import pytest

from workspace import BAD, GOOD, Workspace, places

SILENCED = BAD.replace("(out)\n", "(out)  # ckptlint: ignore[CKP101] one rank\n")
IDLE = GOOD.replace("(out)\n", "(out)  # ckptlint: ignore[CKP101] one rank\n")
HELPER = (
    "def save(engine, out):\n    engine.save_checkpoint(out)  # ckptlint: ignore[CKP101] meant\n"
)
CALLER = BAD.replace("engine.save_checkpoint(out)", "save(engine, out)").replace(
    "import deepspeed\n", "import deepspeed\nfrom helper import save\n"
)


def test_a_comment_that_silences_nothing_is_found_and_taken_away(workspace: Workspace) -> None:
    workspace.write(used=SILENCED, idle=IDLE)
    result = workspace.check()
    assert places(result) == ["idle.py:5:34 CKP901"]
    assert result.exit_code == 1
    assert workspace.check("--fix").exit_code == 0
    assert (workspace.root / "idle.py").read_text() == GOOD
    assert (workspace.root / "used.py").read_text() == SILENCED


def test_a_fix_that_mends_the_code_leaves_no_comment_behind(workspace: Workspace) -> None:
    text = BAD.replace("(out)\n", "(out)  # ckptlint: ignore[CKP103]\n")
    path = workspace.put("train.py", text)
    assert workspace.check("--fix", "--unsafe-fixes").exit_code == 0
    assert "ckptlint" not in path.read_text()
    assert "get_rank" not in path.read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--select", "CKP103,CKP901"],
        ["--ignore", "CKP101"],
        ["--ignore", "CKP901"],
        ["--select", "CKP901"],
    ],
)
def test_only_rules_that_ran_call_a_comment_unused(
    workspace: Workspace, arguments: list[str]
) -> None:
    workspace.write(idle=IDLE)
    assert places(workspace.check(*arguments)) == []


def test_a_comment_that_is_used_by_another_file_is_used_whichever_file_is_named(
    workspace: Workspace,
) -> None:
    workspace.write(helper=HELPER, caller=CALLER)
    assert places(workspace.check()) == []
    assert places(workspace.check("helper.py")) == []
    assert places(workspace.check("caller.py")) == []
    (workspace.root / "caller.py").unlink()
    assert places(workspace.check("helper.py")) == ["helper.py:2:34 CKP901"]


def test_findings_below_the_shown_confidence_use_their_comments(workspace: Workspace) -> None:
    # The name "engine" is the usual one, no more: the finding is not certain.
    text = SILENCED.replace("engine: deepspeed.DeepSpeedEngine", "engine")
    workspace.write(train=text)
    assert places(workspace.check("--confidence", "possible")) == []
    assert places(workspace.check("--confidence", "certain")) == []
    workspace.write(train=text.split("  # ckptlint")[0] + "\n")
    assert places(workspace.check("--confidence", "possible")) == ["train.py:6:9 CKP101"]
    assert places(workspace.check("--confidence", "certain")) == []


def test_where_a_file_was_not_analysed_no_comment_is_judged(workspace: Workspace) -> None:
    workspace.write(idle=IDLE, torn="def broken(:\n")
    result = workspace.check()
    assert places(result) == ["torn.py:1:1 CKP900"]


def test_findings_about_comments_can_be_ignored_like_others(workspace: Workspace) -> None:
    workspace.write(idle=IDLE.replace("[CKP101]", "[CKP101, CKP901]"), other=IDLE)
    workspace.put("ckptlint.toml", '[per-file-ignores]\n"other.py" = ["CKP901"]\n')
    assert places(workspace.check()) == []


def test_what_a_fix_of_a_comment_would_do_is_told_in_json(workspace: Workspace) -> None:
    workspace.write(idle=IDLE)
    (finding,) = json.loads(workspace.run("check", "--output-format", "json").stdout)["findings"]
    assert finding["fix"]["applicability"] == "safe"
    assert (finding["severity"], finding["baselined"]) == ("warning", False)
