"""``--fix`` and ``--diff`` as a user sees them, with an analysis that finds words."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ckptlint.checking import Invocation, run
from ckptlint.config import Overrides
from ckptlint.engine import Request, not_analysed
from ckptlint.finding import Applicability, Confidence, Edit, Finding, Fix, Severity, Span
from workspace import Workspace

_HOW = {"safe": Applicability.SAFE, "unsafe": Applicability.UNSAFE, "none": None}


def words(request: Request) -> list[Finding]:
    """Find the words safe, unsafe and none; the first two are made upper case by their fixes."""
    found: list[Finding] = []
    for source in request.sources:
        for number, line in enumerate(source.lines, 1):
            word = line.strip()
            if word == "torn":
                found.append(not_analysed(source.display, "torn", number))
            if word not in _HOW:
                continue
            span = Span(source.display, number, 1, number, len(word) + 1)
            how = _HOW[word]
            fix = None if how is None else Fix(how, "shout", (Edit(span, word.upper()),))
            found.append(
                Finding(
                    "CKP101",
                    "collective-save-on-some-ranks",
                    Severity.ERROR,
                    Confidence.CERTAIN,
                    word,
                    "help",
                    span,
                    "f",
                    fix=fix,
                )
            )
    return found


def check(workspace: Workspace, **options: bool) -> int:
    return run(Invocation((Path("."),), Overrides(), cwd=workspace.root, **options), words)


def test_findings_tell_how_they_can_be_fixed(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write(a="safe\nunsafe\nnone\n")
    assert check(workspace) == 1
    out = capsys.readouterr().out
    assert "= fix: shout ([*] --fix applies it)" in out
    assert "= fix: shout (unsafe: --fix --unsafe-fixes applies it)" in out
    assert "[*] 1 fixable with --fix (1 more with --unsafe-fixes)." in out


def test_fix_applies_safe_fixes_and_reports_what_remains(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write(a="safe\nunsafe\nnone\n", b="safe\n")
    assert check(workspace, fix=True) == 1
    assert (workspace.root / "a.py").read_text() == "SAFE\nunsafe\nnone\n"
    assert (workspace.root / "b.py").read_text() == "SAFE\n"
    assert "Found 4 findings (2 fixed, 2 remaining)." in capsys.readouterr().out


def test_fix_exits_with_zero_when_nothing_remains(workspace: Workspace) -> None:
    workspace.write(a="safe\nunsafe\n")
    assert check(workspace, fix=True, unsafe_fixes=True) == 0
    assert (workspace.root / "a.py").read_text() == "SAFE\nUNSAFE\n"


def test_fixing_twice_changes_nothing(workspace: Workspace) -> None:
    workspace.write(a="safe\nnone\n")
    check(workspace, fix=True)
    before = (workspace.root / "a.py").stat().st_mtime_ns
    check(workspace, fix=True)
    assert (workspace.root / "a.py").stat().st_mtime_ns == before


def test_a_file_that_cannot_be_written_exits_with_two(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    path = workspace.put("a.py", "safe\n")
    path.chmod(0o444)
    assert check(workspace, fix=True) == 2
    captured = capsys.readouterr()
    assert "ckptlint: cannot write a.py: it is read-only" in captured.err
    assert "Found 1 finding in 1 file." in captured.out
    assert path.read_text() == "safe\n"


def test_diff_prints_a_patch_that_git_applies_and_writes_nothing(
    workspace: Workspace, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    workspace.write(a="safe\nnone\n", deep__b="x\r\nsafe\r\ny", clean="x = 1\n")
    assert check(workspace, diff=True) == 1
    out, err = capfdbinary.readouterr()
    assert (workspace.root / "a.py").read_text() == "safe\nnone\n"
    assert out.startswith(b"--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-safe\n+SAFE\n none\n")
    assert err == b"Would fix 2 findings; 1 would remain.\n"
    subprocess.run(["git", "apply", "-"], input=out, cwd=workspace.root, check=True)
    assert (workspace.root / "a.py").read_text() == "SAFE\nnone\n"
    assert (workspace.root / "deep" / "b.py").read_bytes() == b"x\r\nSAFE\r\ny"


def test_diff_exits_with_one_when_it_would_change_something(
    workspace: Workspace, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    workspace.write(a="safe\n")
    assert check(workspace, diff=True) == 1
    assert check(workspace, diff=True, exit_zero=True) == 0
    workspace.write(a="SAFE\n")
    capfdbinary.readouterr()
    assert check(workspace, diff=True) == 0
    assert capfdbinary.readouterr().out == b""


def test_diff_tells_which_files_were_not_analysed(
    workspace: Workspace, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    workspace.write(a="safe\n", b="torn\n")
    assert check(workspace, diff=True) == 2
    out, err = capfdbinary.readouterr()
    assert b"+SAFE" in out
    assert b"b.py:1:1: CKP900 not analysed: torn" in err


def test_standard_input_is_fixed_onto_standard_output(workspace: Workspace) -> None:
    result = workspace.run("check", "--fix", "-", stdin="x = 1\r\n")
    assert result.stdout_bytes == b"x = 1\r\n"
    assert "No findings in 1 file." in result.stderr
    assert result.exit_code == 0


def test_style_of_fixes_is_a_setting(workspace: Workspace) -> None:
    program = """\
from accelerate import Accelerator


def save(accelerator: Accelerator, folder):
    if accelerator.is_main_process:
        accelerator.save_state(folder)
"""
    (workspace.root / "train.py").write_text(program)
    (workspace.root / "ckptlint.toml").write_text('fix-style = "runtime"\n')
    options = {"fix": True, "unsafe_fixes": True}
    assert run(Invocation((Path("."),), Overrides(), cwd=workspace.root, **options)) == 0
    assert (
        (workspace.root / "train.py").read_text()
        == """\
import ckptlint_runtime
from accelerate import Accelerator


def save(accelerator: Accelerator, folder):
    ckptlint_runtime.save_checkpoint(accelerator, folder)
"""
    )


def test_copy_of_the_runtime_is_imported_from_where_it_stands(workspace: Workspace) -> None:
    package = workspace.root / "mylib" / "ckptlint_runtime"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def save_checkpoint(state, path): ...\n")
    (workspace.root / "mylib" / "__init__.py").write_text("")
    (workspace.root / "ckptlint.toml").write_text('fix-style = "runtime"\n')
    (workspace.root / "train.py").write_text(
        """\
from accelerate import Accelerator


def save(accelerator: Accelerator, folder):
    if accelerator.is_main_process:
        accelerator.save_state(folder)
"""
    )
    options = {"fix": True, "unsafe_fixes": True}
    run(Invocation((Path("."),), Overrides(), cwd=workspace.root, **options))
    assert (
        (workspace.root / "train.py")
        .read_text()
        .startswith("from accelerate import Accelerator\nfrom mylib import ckptlint_runtime\n")
    )
