"""A baseline as a project lives with it: written, edited around, merged, damaged, worked off."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from ckptlint import atomic, cache
from workspace import BAD, GOOD, Workspace, places

FILE = "ckptlint-baseline.json"
# A second fault of another rule in the same function.
WAIT = "    if dist.get_rank() == 0:\n        dist.barrier()\n"
SAVE = "    if dist.get_rank() == 0:\n        engine.save_checkpoint(out)\n"


def update(workspace: Workspace, *arguments: str) -> str:
    """Write the baseline and return what is said about it."""
    result = workspace.check("--baseline", FILE, "--update-baseline", *arguments)
    assert result.exit_code == 0
    assert places(result) == []
    return result.stderr


def new(workspace: Workspace, *arguments: str) -> list[str]:
    """Return what the baseline does not hold; the exit status agrees with it."""
    result = workspace.check("--baseline", FILE, *arguments)
    assert result.exit_code == (1 if places(result) else 0)
    return places(result)


def entries(workspace: Workspace) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((workspace.root / FILE).read_text())["findings"]
    return found


def test_what_is_in_the_baseline_is_not_told_and_does_not_count(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    assert (
        update(workspace)
        == f"ckptlint: {workspace.root / FILE} holds 1 finding (1 added, 0 removed)\n"
    )
    result = workspace.check("--baseline", FILE)
    assert result.exit_code == 0
    assert result.stdout == ("No new findings in 1 file.\n1 finding in the baseline, not shown.\n")
    workspace.write(train=BAD + WAIT)
    assert new(workspace) == ["train.py:8:9 CKP103"]


@pytest.mark.parametrize(
    "edited",
    [
        "\n\nimport os\n" + BAD,
        BAD.replace("\n", "\r\n"),
        BAD.replace("(out)", "(\n            out,\n        )  # kept"),
        BAD.replace(
            "    if dist.get_rank() == 0:", "    # on one rank\n    if not dist.get_rank():"
        ),
        "def other():\n    pass\n" + BAD + "\ndef more():\n    pass\n",
    ],
    ids=["shifted", "Windows", "reformatted", "another test", "between others"],
)
def test_edits_elsewhere_do_not_bring_a_finding_back(workspace: Workspace, edited: str) -> None:
    workspace.write(train=BAD)
    update(workspace)
    workspace.write(train=edited)
    assert len(places(workspace.check())) == 1
    assert new(workspace) == []


def test_another_statement_or_function_is_another_finding(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    update(workspace)
    workspace.write(train=BAD.replace("(out)\n", "(out, tag=1)\n"))
    assert new(workspace) == ["train.py:6:9 CKP101"]
    workspace.write(train=BAD.replace("def train", "def finish"))
    assert new(workspace) == ["train.py:6:9 CKP101"]


def test_equal_findings_are_counted(workspace: Workspace) -> None:
    workspace.write(train=BAD + SAVE)
    update(workspace)
    (entry,) = entries(workspace)
    assert entry["count"] == 2
    workspace.write(train=BAD + SAVE + SAVE)
    assert new(workspace) == ["train.py:10:9 CKP101"]


def test_a_file_that_moved_keeps_its_findings(workspace: Workspace) -> None:
    workspace.write(old__train=BAD)
    update(workspace)
    workspace.put("größe 1/train.py", (workspace.root / "old/train.py").read_bytes())
    (workspace.root / "old/train.py").unlink()
    assert new(workspace) == []
    assert "(0 added, 0 removed)" in update(workspace)
    assert [entry["path"] for entry in entries(workspace)] == ["größe 1/train.py"]


def test_a_function_that_moved_to_another_file_keeps_its_findings(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    update(workspace)
    workspace.write(train="def main():\n    pass\n", saving=BAD)
    assert new(workspace) == []
    assert new(workspace, "saving.py") == ["saving.py:6:9 CKP101"]  # train.py was not looked at


def test_a_copy_is_not_a_move(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    update(workspace)
    workspace.write(copy=BAD)
    assert new(workspace) == ["copy.py:6:9 CKP101"]
    assert new(workspace, "copy.py") == ["copy.py:6:9 CKP101"]


def test_what_is_gone_is_told_and_taken_out(workspace: Workspace) -> None:
    workspace.write(train=BAD, other=BAD)
    update(workspace)
    workspace.write(train=GOOD)
    result = workspace.check("--baseline", FILE)
    assert result.exit_code == 0
    assert "1 finding of the baseline no longer found (--update-baseline" in result.stdout
    assert len(entries(workspace)) == 2
    assert "holds 1 finding (0 added, 1 removed)" in update(workspace)
    assert [entry["path"] for entry in entries(workspace)] == ["other.py"]
    (workspace.root / "other.py").unlink()
    assert "holds 0 findings (0 added, 1 removed)" in update(workspace)
    assert entries(workspace) == []


def test_what_was_not_looked_at_is_kept(workspace: Workspace) -> None:
    workspace.write(one=BAD, two=BAD + WAIT)
    update(workspace)
    before = (workspace.root / FILE).read_bytes()
    assert "(0 added, 0 removed)" in update(workspace, "one.py")
    assert "(0 added, 0 removed)" in update(workspace, "--select", "CKP103")
    assert "(0 added, 0 removed)" in update(workspace, "--ignore", "CKP101")
    assert (workspace.root / FILE).read_bytes() == before
    workspace.write(one=GOOD, two=GOOD)
    assert "(0 added, 1 removed)" in update(workspace, "two.py", "--select", "CKP103")
    assert "(0 added, 2 removed)" in update(workspace)


def test_a_less_sure_finding_is_kept_by_a_stricter_run(workspace: Workspace) -> None:
    workspace.write(train=BAD.replace("engine: deepspeed.DeepSpeedEngine", "engine"))
    update(workspace, "--confidence", "possible")
    (entry,) = entries(workspace)
    assert entry["confidence"] in ("likely", "possible")
    assert "(0 added, 0 removed)" in update(workspace, "--confidence", "certain")


def test_the_file_is_the_same_however_often_and_from_where_it_is_written(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write(b=BAD, a__x=BAD + WAIT, a__y=BAD)
    update(workspace)
    before = (workspace.root / FILE).read_bytes()
    update(workspace)
    monkeypatch.chdir(workspace.root / "a")
    workspace.check("..", "--baseline", f"../{FILE}", "--update-baseline")
    assert (workspace.root / FILE).read_bytes() == before
    assert workspace.check("x.py", "--baseline", f"../{FILE}").exit_code == 0
    lines = before.decode().splitlines()
    assert lines[:3] == ["{", '  "version": 1,', '  "findings": [']
    assert [json.loads(line.strip().rstrip(","))["path"] for line in lines[3:-2]] == [
        "a/x.py",
        "a/x.py",
        "a/y.py",
        "b.py",
    ]


def test_a_merge_that_kept_a_line_twice_does_not_loosen_it(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    update(workspace)
    path = workspace.root / FILE
    line = next(line for line in path.read_text().splitlines() if '"path"' in line)
    path.write_text(path.read_text().replace(line, f"{line},\n{line}"))
    workspace.write(train=BAD + SAVE)
    assert new(workspace) == ["train.py:8:9 CKP101"]


def test_settings_name_a_baseline_for_every_surface(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    workspace.put("ckptlint.toml", f'baseline = "{FILE}"\n')
    assert workspace.check("--update-baseline").exit_code == 0
    assert places(workspace.check()) == []
    assert places(workspace.check("--no-baseline")) == ["train.py:6:9 CKP101"]
    assert places(workspace.check("--isolated")) == ["train.py:6:9 CKP101"]


def test_projects_of_one_run_have_baselines_of_their_own(workspace: Workspace) -> None:
    for name in ("one", "two"):
        workspace.put(f"{name}/ckptlint.toml", f'baseline = "{FILE}"\n')
        workspace.put(f"{name}/train.py", BAD)
    workspace.write(train=BAD)
    result = workspace.check("one", "two", "--update-baseline")
    assert result.stderr.count("holds 1 finding") == 2
    assert places(workspace.check()) == ["train.py:6:9 CKP101"]
    assert json.loads((workspace.root / "one" / FILE).read_text())["findings"][0]["path"] == (
        "train.py"
    )


def test_json_and_sarif_show_the_state_of_each_finding(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    update(workspace)
    workspace.write(train=GOOD + WAIT, more=BAD)

    def told(output_format: str) -> dict[str, object]:
        result = workspace.run("check", "--baseline", FILE, "--output-format", output_format)
        assert result.exit_code == 1
        document: dict[str, object] = json.loads(result.stdout)
        return document

    document = told("json")
    assert [(f["code"], f["baselined"]) for f in document["findings"]] == [  # type: ignore
        ("CKP101", False), ("CKP103", False),
    ]  # fmt: skip
    assert len(document["stale"]) == 1  # type: ignore
    workspace.write(train=BAD + WAIT)
    (workspace.root / "more.py").unlink()
    assert [f["baselined"] for f in told("json")["findings"]] == [True, False]  # type: ignore
    (run,) = told("sarif")["runs"]  # type: ignore
    assert [result["baselineState"] for result in run["results"]] == ["unchanged", "new"]
    workspace.write(train=GOOD + WAIT)
    (stale,) = told("json")["stale"]  # type: ignore
    assert (stale["path"], stale["function"], stale["code"], stale["count"]) == (
        "train.py", "train", "CKP101", 1,
    )  # fmt: skip


@pytest.mark.parametrize("output_format", ["github", "gitlab", "junit", "rdjson", "full"])
def test_the_other_formats_tell_new_findings_only(workspace: Workspace, output_format: str) -> None:
    workspace.write(train=BAD)
    update(workspace)
    workspace.write(train=BAD + WAIT)
    text = workspace.run("check", "--baseline", FILE, "--output-format", output_format).stdout
    assert "CKP103" in text
    assert "CKP101" not in text


def test_fixes_leave_what_is_in_the_baseline(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    update(workspace)
    workspace.write(train=BAD, more=BAD)
    assert workspace.check("--baseline", FILE, "--fix", "--unsafe-fixes").exit_code == 0
    assert (workspace.root / "train.py").read_text() == BAD
    assert "get_rank" not in (workspace.root / "more.py").read_text()


def test_a_file_that_was_not_analysed_is_never_in_a_baseline(workspace: Workspace) -> None:
    workspace.write(train=BAD, torn=BAD)
    update(workspace)
    workspace.write(torn="def broken(rank:\n")
    result = workspace.check("--baseline", FILE, "--update-baseline")
    assert result.exit_code == 2
    assert places(result) == ["torn.py:1:1 CKP900"]
    assert [entry["path"] for entry in entries(workspace)] == ["torn.py", "train.py"]
    assert workspace.check("--baseline", FILE).exit_code == 2


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "damaged (Expecting value"),
        ("<<<<<<< HEAD\n{}", "damaged (Expecting value"),
        ('{"version": 1, "findings": [\n{"path": "a"]}', "damaged (Expecting"),
        ("[]", 'it has no list "findings"'),
        ('{"version": 1}', 'it has no list "findings"'),
        ('{"version": 1, "findings": [{"path": "a"}]}', "entry 1 lacks one of path, function"),
        ('{"version": 2, "findings": []}', "its version is 2, and this ckptlint reads 1"),
        (b"\xff\xfe", "damaged ("),
        ("[" * 100_000, "damaged ("),
    ],
)
def test_a_damaged_baseline_is_an_error_of_usage(
    workspace: Workspace, content: str | bytes, why: str
) -> None:
    workspace.write(train=BAD)
    path = workspace.put(FILE, content)
    before = path.read_bytes()
    for arguments in (["--baseline", FILE], ["--baseline", FILE, "--update-baseline"]):
        result = workspace.check(*arguments)
        assert result.exit_code == 2
        assert why in result.stderr
        assert str(path) in result.stderr
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"count": 0}, "the count of entry 1"),
        ({"count": "2"}, "the count of entry 1"),
        ({"count": True}, "the count of entry 1"),
        ({"confidence": "sure"}, "'sure' is not a valid Confidence"),
        ({"statement": 5}, "entry 1 lacks one of"),
    ],
)
def test_a_damaged_entry_is_named(
    workspace: Workspace, change: dict[str, object], why: str
) -> None:
    workspace.write(train=BAD)
    update(workspace)
    (entry,) = entries(workspace)
    document = {"version": 1, "findings": [{**entry, **change}]}
    (workspace.root / FILE).write_text(json.dumps(document))
    result = workspace.check("--baseline", FILE)
    assert result.exit_code == 2
    assert why in result.stderr


def test_a_baseline_that_is_not_there_says_how_to_make_one(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    result = workspace.check("--baseline", FILE)
    assert result.exit_code == 2
    assert "there is no such baseline; write it with --update-baseline" in result.stderr
    result = workspace.check("--update-baseline")
    assert result.exit_code == 2
    assert "give --baseline FILE, or set baseline in the settings" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["--update-baseline", "--fix"],
        ["--update-baseline", "--diff"],
        ["--update-baseline", "--add-ignore", "why"],
        ["--update-baseline", "-"],
        ["--update-baseline", "--no-baseline"],
        ["--baseline", FILE, "--no-baseline"],
    ],
)
def test_what_does_not_go_with_a_baseline_is_refused(
    workspace: Workspace, arguments: list[str]
) -> None:
    assert workspace.check(*arguments).exit_code == 2


def test_the_file_is_replaced_at_once_and_keeps_its_mode(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write(train=BAD)
    update(workspace)
    path = workspace.root / FILE
    path.chmod(0o640)
    before = path.read_bytes()
    workspace.write(train=BAD + WAIT)

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, "replace", refuse)
        result = workspace.check("--baseline", FILE, "--update-baseline")
        assert result.exit_code == 2
        assert "the baseline cannot be written: No space left on device" in result.stderr
    assert path.read_bytes() == before
    there = {*os.listdir(workspace.root)} - {cache.FOLDER}
    assert there == {".git", FILE, "ckptlint.toml", "train.py"}
    update(workspace)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert len(entries(workspace)) == 2


def test_names_that_are_no_text_can_be_kept(workspace: Workspace) -> None:
    workspace.put(os.fsdecode(b"caf\xe9.py"), BAD)
    update(workspace)
    assert new(workspace) == []


def test_a_baseline_outside_the_project_names_files_from_where_it_stands(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.write(train=BAD)
    elsewhere = tmp_path / "kept" / FILE
    elsewhere.parent.mkdir()
    workspace.check("--baseline", str(elsewhere), "--update-baseline")
    document = json.loads(elsewhere.read_text())
    assert document["findings"][0]["path"] == "../project/train.py"
    assert workspace.check("--baseline", str(elsewhere)).exit_code == 0


def test_standard_input_is_compared_as_the_file_it_stands_for(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    update(workspace)
    name = ["-", "--stdin-filename", "train.py", "--baseline", FILE]
    assert workspace.check(*name, stdin="\n\n" + BAD).exit_code == 0
    assert places(workspace.check(*name, stdin=BAD + WAIT)) == ["train.py:8:9 CKP103"]
