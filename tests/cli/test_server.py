"""The language server as an editor sees it: a real process, real messages."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest

from language_client import CAPABILITIES, LanguageClient, edited
from workspace import BAD, GOOD, Workspace

HELPER = "def keep(engine, out):\n    engine.save_checkpoint(out)\n"
CALLER = "from helper import keep\n" + BAD.replace(
    "engine.save_checkpoint(out)", "keep(engine, out)"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LanguageClient]:
    """One server for all tests, each of which has a project of its own."""
    with LanguageClient(tmp_path_factory.mktemp("editor")) as client:
        yield client


@pytest.fixture
def client(workspace: Workspace, server: LanguageClient) -> Iterator[LanguageClient]:
    workspace.write(train=BAD)
    server.root = workspace.root
    yield server
    server.close_all()


def quick_fixes(client: LanguageClient, uri: str, line: int) -> list[dict[str, Any]]:
    return [action for action in client.actions(uri, line) if action["title"].startswith("Call ")]


def edits_of(action: dict[str, Any], uri: str) -> list[dict[str, Any]]:
    (change,) = action["edit"]["documentChanges"]
    assert change["textDocument"]["uri"] == uri
    edits: list[dict[str, Any]] = change["edits"]
    return edits


def place(line: int, start: int, end: int) -> dict[str, dict[str, int]]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


# -- findings ------------------------------------------------------------------------------------


def test_findings_come_and_go_while_one_types(client: LanguageClient) -> None:
    uri = client.open("train.py")
    (found,) = client.until(uri, "CKP101")
    assert found["range"] == place(5, 8, 35)
    assert found["severity"] == 1
    assert found["source"] == "ckptlint"
    assert found["message"].splitlines() == [
        "only rank 0 reaches engine.save_checkpoint; the job hangs",
        "help: call it on every rank; it chooses the writers itself",
    ]
    (related,) = found["relatedInformation"]
    assert related["message"] == "true on rank 0 only"
    assert related["location"] == {"uri": uri, "range": place(4, 7, 27)}
    client.change(uri, GOOD)
    client.until(uri)
    client.change(uri, f"\n{BAD}")
    assert client.until(uri, "CKP101")[0]["range"]["start"]["line"] == 6


def test_a_code_leads_to_the_page_of_its_rule(client: LanguageClient) -> None:
    (found,) = client.until(client.open("train.py"), "CKP101")
    page = Path(unquote(urlparse(found["codeDescription"]["href"]).path))
    assert page.read_text().startswith('"""A collective save is called by some ranks only.')


def test_a_client_that_shows_no_other_places_is_told_them(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    with LanguageClient(workspace.root, {}) as client:
        uri = client.open("train.py")
        (found,) = client.until(uri, "CKP101")
        assert "relatedInformation" not in found
        assert "train.py:5: true on rank 0 only" in found["message"].splitlines()
        (fix,) = quick_fixes(client, uri, 5)
        assert edited(BAD, fix["edit"]["changes"][uri]) == GOOD


@pytest.mark.parametrize(("encoding", "before"), [("utf-16", 16), ("utf-8", 21), ("utf-32", 14)])
def test_places_count_as_client_and_server_agreed(
    workspace: Workspace, encoding: str, before: int
) -> None:
    text = BAD.replace("engine.save", 'print("é😀😀"); engine.save')
    workspace.write(train=text)
    general = {"general": {"positionEncodings": [encoding]}}
    with LanguageClient(workspace.root, {**CAPABILITIES, **general}) as client:
        assert client.server["positionEncoding"] == encoding
        uri = client.open("train.py")
        (found,) = client.until(uri, "CKP101")
        assert found["range"] == place(5, 8 + before, 8 + before + 27)
        assert "Every rank must call this" in client.hover(uri, 5, 8 + before + 10)


def test_unsaved_texts_of_other_files_count(client: LanguageClient, workspace: Workspace) -> None:
    workspace.write(helper="def keep(engine, out):\n    pass\n", train=CALLER)
    uri = client.open("train.py")
    client.until(uri)
    helper = client.open("helper.py", HELPER)
    (found,) = client.until(uri, "CKP101")
    assert [each["location"]["uri"] for each in found["relatedInformation"]] == [uri, helper]
    client.close(helper)
    client.until(uri)


def test_changes_on_the_disk_count_when_the_client_tells(
    client: LanguageClient, workspace: Workspace
) -> None:
    workspace.write(train=CALLER)
    uri = client.open("train.py")
    client.until(uri)
    assert client.registered == ["workspace/didChangeWatchedFiles"]
    path = workspace.put("helper.py", HELPER)
    client.notify("workspace/didChangeWatchedFiles", changes=[{"uri": path.as_uri(), "type": 1}])
    client.until(uri, "CKP101")


def test_a_closed_text_shows_nothing(client: LanguageClient) -> None:
    uri = client.open("train.py")
    client.until(uri, "CKP101")
    client.close(uri)
    client.until(uri)


def test_settings_are_read_again_when_they_change(
    client: LanguageClient, workspace: Workspace
) -> None:
    uri = client.open("train.py")
    client.until(uri, "CKP101")
    workspace.put("ckptlint.toml", 'ignore = ["CKP101"]\n')
    client.change(uri, f"{BAD}\n")
    client.until(uri)
    workspace.put("ckptlint.toml", 'extend-exclude = ["other"]\n')
    client.change(uri, f"{BAD}\n\n")
    client.until(uri, "CKP101")


def test_settings_that_cannot_be_used_are_told_and_end_nothing(
    client: LanguageClient, workspace: Workspace
) -> None:
    uri = client.open("train.py")
    client.until(uri, "CKP101")
    workspace.put("ckptlint.toml", "ignored = []\n")
    client.change(uri, GOOD)
    told = client.wait(lambda m: m.get("method") == "window/showMessage")
    assert "unknown key 'ignored'; did you mean 'ignore'?" in told["params"]["message"]
    assert client.actions(uri, 5) == []
    assert client.hover(uri, 4, 8) == ""
    workspace.put("ckptlint.toml", "")
    client.change(uri, BAD)
    client.until(uri, "CKP101")


def test_files_that_the_settings_leave_out_show_nothing(
    client: LanguageClient, workspace: Workspace
) -> None:
    workspace.put("ckptlint.toml", 'extend-exclude = ["generated"]\n')
    workspace.write(generated__train=BAD, test_train=BAD)
    client.until(client.open("train.py"), "CKP101")
    client.until(client.open("generated/train.py"))
    client.until(client.open("test_train.py"))


def test_a_text_that_is_not_python_is_told_quietly(client: LanguageClient) -> None:
    uri = client.open("train.py")
    client.until(uri, "CKP101")
    client.change(uri, f"{BAD}    engine.(\n")
    (found,) = client.until(uri, "CKP900")
    assert found["severity"] == 3
    assert found["message"].startswith("not analysed: syntax error")
    client.change(uri, BAD)
    client.until(uri, "CKP101")


def test_line_ends_and_form_feeds_are_counted_as_editors_do(client: LanguageClient) -> None:
    uri = client.open("train.py", "\x0c\r\n# \u2028\r" + BAD.replace("\n", "\r\n"))
    assert client.until(uri, "CKP101")[0]["range"] == place(7, 8, 35)


# -- actions -------------------------------------------------------------------------------------


def test_a_quick_fix_does_what_the_command_line_does(client: LanguageClient) -> None:
    uri = client.open("train.py")
    (diagnostic,) = client.until(uri, "CKP101")
    (fix,) = quick_fixes(client, uri, 5)
    assert fix["title"] == "Call engine.save_checkpoint on every rank (CKP101)"
    assert fix["isPreferred"] is True
    assert fix["diagnostics"] == [diagnostic]
    (change,) = fix["edit"]["documentChanges"]
    assert change["textDocument"]["version"] == 1
    assert edited(BAD, edits_of(fix, uri)) == GOOD
    assert quick_fixes(client, uri, 3) == []


def test_an_unsafe_fix_says_so(client: LanguageClient) -> None:
    uri = client.open("train.py", BAD.replace("(out)\n", "(out.name())\n"))
    client.until(uri, "CKP101")
    (fix,) = quick_fixes(client, uri, 5)
    assert "check first: `out.name` is called on every rank" in fix["title"]
    assert fix["title"].endswith("(CKP101; unsafe, read what it changes)")
    assert fix["isPreferred"] is False


def test_a_finding_can_be_silenced_with_a_comment(client: LanguageClient) -> None:
    uri = client.open("train.py")
    client.until(uri, "CKP101")
    (action,) = [a for a in client.actions(uri, 5) if a["title"].startswith("Silence ")]
    quiet = edited(BAD, edits_of(action, uri))
    comment = "        # ckptlint: ignore[CKP101] say why\n"
    assert quiet == BAD.replace("        engine", f"{comment}        engine")
    client.change(uri, quiet)
    client.until(uri)
    client.change(uri, GOOD.replace("    engine", comment + "    engine"))
    (unused,) = client.until(uri, "CKP901")
    assert unused["tags"] == [1]


def test_what_a_baseline_holds_is_not_shown(client: LanguageClient, workspace: Workspace) -> None:
    workspace.put("ckptlint.toml", 'baseline = "known.json"\n')
    assert workspace.run("check", "--update-baseline").exit_code == 0
    client.until(client.open("train.py"))
    client.until(client.open("again.py", BAD), "CKP101")


def test_all_safe_fixes_can_be_applied_on_saving(client: LanguageClient) -> None:
    twice = f"# 😀\n{BAD}\n\n{BAD.split(chr(10), 3)[3].replace('train', 'again')}"
    uri = client.open("train.py", twice)
    client.until(uri, "CKP101", "CKP101")
    (action,) = client.actions(uri, 0, ["source.fixAll"])
    assert action["kind"] == "source.fixAll.ckptlint"
    fixed = edited(twice, edits_of(action, uri))
    assert fixed.count("if dist") == 0
    client.change(uri, fixed)
    client.until(uri)
    assert client.actions(uri, 0, ["source.fixAll"]) == []
    assert client.actions(uri, 5, ["refactor"]) == []


# -- hover ---------------------------------------------------------------------------------------


HOVERED = """\
import os
import deepspeed
import torch.distributed as dist
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.utilities import rank_zero_only

def keep(engine, out):
    engine.save_checkpoint(out)

@rank_zero_only
def train(model, out):
    engine, *_ = deepspeed.initialize(model=model)
    dist.barrier()
    if int(os.environ["RANK"]) == 0:
        keep(engine, out)
    print(out)

class Saver(Callback):
    def on_save_checkpoint(self, trainer, pl_module, checkpoint):
        trainer.strategy.barrier()
"""


def test_hover_tells_who_must_call(client: LanguageClient) -> None:
    uri = client.open("train.py", HOVERED)
    lines = HOVERED.splitlines()

    def told(line: str, word: str) -> str:
        number = next(n for n, text in enumerate(lines) if text.startswith(line))
        return client.hover(uri, number, lines[number].index(word) + 2)

    assert told("    engine.save_checkpoint", "save_checkpoint").splitlines()[:3] == [
        "**`deepspeed.DeepSpeedEngine.save_checkpoint`**",
        "",
        "**Every rank must call this.** If only some do, the job hangs.",
    ]
    assert "**`torch.distributed.barrier`**" in told("    dist.barrier", "barrier")
    assert "rank test: the number of the rank of the job" in told("    if int", "RANK")
    assert "decorator: runs on the first rank" in told("@rank_zero", "rank_zero_only")
    assert re.search(
        r"^- `engine.save_checkpoint` \(.*train.py:8\)$", told("        keep", "keep"), re.M
    )
    assert "hook: runs on" in told("    def on_save", "on_save_checkpoint")
    assert told("    print", "print") == ""
    assert told("    print", "out") == ""


def test_hover_is_empty_where_there_is_nothing(client: LanguageClient) -> None:
    uri = client.open("train.py")
    assert client.hover(uri, 0, 500) == ""
    assert client.hover(uri, 500, 0) == ""
    client.change(uri, "def (:\n")
    assert client.hover(uri, 0, 1) == ""


# -- what each rank does -------------------------------------------------------------------------


def lenses(client: LanguageClient, uri: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.request("textDocument/codeLens", textDocument={"uri": uri})
    return found


def test_a_lens_tells_what_each_rank_does_and_draws_it(client: LanguageClient) -> None:
    uri = client.open("train.py", f"{BAD}\ndef other(x):\n    return x\n")
    (lens,) = lenses(client, uri)
    assert lens["range"] == place(3, 0, 0)
    command = lens["command"]
    assert command["title"] == (
        "What each rank does: its one collective is not reached by every rank"
    )
    assert command["command"] in client.server["executeCommandProvider"]["commands"]
    drawn = client.request(
        "workspace/executeCommand", command=command["command"], arguments=command["arguments"]
    )
    shown = client.wait(lambda m: m.get("method") == "window/showDocument")["params"]
    assert Path(unquote(urlparse(shown["uri"]).path)).read_text() == drawn
    assert "train.py  train  its one collective is not reached by every rank\n" in drawn
    assert "never comes" in drawn


def test_a_client_may_have_pictures_as_pages(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    with LanguageClient(workspace.root, options={"trace": "html"}) as client:
        uri = client.open("train.py")
        drawn = client.request(
            "workspace/executeCommand", command="ckptlint.trace", arguments=[uri, "train"]
        )
        assert drawn.startswith("<!doctype html>")
        shown = client.wait(lambda m: m.get("method") == "window/showDocument")["params"]
        assert shown["external"] is True
        assert shown["uri"].endswith("/train.html")


# -- notebooks -----------------------------------------------------------------------------------


def test_a_notebook_shows_findings_in_its_cells(client: LanguageClient) -> None:
    head, rest = BAD.split("\n\n")
    first, second = client.open_notebook("a.ipynb", f"!ls\n{head}", rest)
    (found,) = client.until(second, "CKP101")
    assert found["range"] == place(2, 8, 35)
    assert client.diagnostics(first) == []
    (fix,) = quick_fixes(client, second, 2)
    assert edited(rest, edits_of(fix, second)) == GOOD.split("\n\n")[1]
    (silence,) = [a for a in client.actions(second, 2) if a["title"].startswith("Silence ")]
    assert edited(rest, edits_of(silence, second)).splitlines()[2] == (
        "        # ckptlint: ignore[CKP101] say why"
    )
    assert "Every rank must call this" in client.hover(second, 2, 20)
    (lens,) = lenses(client, second)
    assert lens["range"] == place(0, 0, 0)
    assert lenses(client, first) == []
    (action,) = client.actions(second, 0, ["source.fixAll"])
    assert edited(rest, edits_of(action, second)) == GOOD.split("\n\n")[1]


def test_a_changed_cell_is_analysed_again(client: LanguageClient) -> None:
    (only,) = client.open_notebook("a.ipynb", BAD)
    client.until(only, "CKP101")
    client.change_cell("a.ipynb", only, GOOD)
    client.until(only)
    client.change_cell("a.ipynb", only, BAD)
    client.until(only, "CKP101")


# -- what goes wrong -----------------------------------------------------------------------------


def test_questions_about_unknown_texts_get_empty_answers(client: LanguageClient) -> None:
    nowhere = (client.root / "nowhere.py").as_uri()
    assert client.actions(nowhere, 0) == []
    assert client.actions(nowhere, 0, ["source.fixAll"]) == []
    assert client.hover(nowhere, 0, 0) == ""
    client.open("untitled.py", BAD)  # never saved
    client.until((client.root / "untitled.py").as_uri(), "CKP101")


def test_a_question_that_cannot_be_read_ends_nothing(client: LanguageClient) -> None:
    client.send({"id": "x", "method": "textDocument/hover", "params": {"textDocument": 7}})
    client.until(client.open("train.py"), "CKP101")


def test_a_fault_of_the_analysis_is_told_once_and_ends_nothing(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    broken = "import ckptlint.server.session as s; from ckptlint.server import run; "
    broken += "s.Session.check = lambda *_: 1 / 0; run()"
    with LanguageClient(workspace.root, program=("-c", broken)) as client:
        uri = client.open("train.py")
        log = client.wait(lambda m: m.get("method") == "window/logMessage")
        assert "ZeroDivisionError" in log["params"]["message"]
        told = client.wait(lambda m: m.get("method") == "window/showMessage")
        assert "a fault of ckptlint itself" in told["params"]["message"]
        assert client.actions(uri, 5) == []
        assert "Every rank must call this" in client.hover(uri, 5, 20)
        assert sum(m.get("method") == "window/showMessage" for m in client.received) == 1


def test_without_its_library_the_server_says_how_to_get_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("ckptlint.server.")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("pygls", "pygls.uris", "lsprotocol"):
        monkeypatch.setitem(sys.modules, name, None)
    result = workspace.run("server")
    assert result.exit_code == 1
    assert "pip install 'ckptlint[lsp]'" in result.stderr
