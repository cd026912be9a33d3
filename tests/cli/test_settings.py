"""Settings as they act on a run, and as they are shown."""

from __future__ import annotations

import pytest

from ckptlint.config_file import tomllib
from workspace import BAD, GOOD, Workspace, places


def test_ignores_of_files_hold_below_the_file_that_states_them(workspace: Workspace) -> None:
    workspace.write(legacy__train=BAD, train=BAD)
    workspace.put("größe 1/legacy/deep/x.py", BAD)
    workspace.put("ckptlint.toml", '[per-file-ignores]\n"legacy" = ["CKP1"]\n')
    assert places(workspace.check()) == ["train.py:6:9 CKP101"]
    workspace.put("ckptlint.toml", '[per-file-ignores]\n"/legacy/*.py" = ["ALL"]\n')
    assert places(workspace.check()) == [
        "größe 1/legacy/deep/x.py:6:9 CKP101",
        "train.py:6:9 CKP101",
    ]


def test_an_extended_file_is_heeded_from_where_it_stands(workspace: Workspace) -> None:
    workspace.put("ckptlint.toml", 'extend-exclude = ["/package/old"]\n')
    workspace.put("package/ckptlint.toml", 'extend = "../ckptlint.toml"\n')
    workspace.write(package__old__a=BAD, package__b=BAD, old__c=BAD)
    assert places(workspace.check()) == ["old/c.py:6:9 CKP101", "package/b.py:6:9 CKP101"]


def shown(workspace: Workspace, *arguments: str) -> str:
    result = workspace.run("check", "--show-settings", *arguments)
    assert result.exit_code == 0
    return result.stdout


def test_settings_are_shown_in_the_words_of_a_settings_file(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    workspace.put("base.toml", 'confidence = "possible"\nextend-exclude = ["old"]\n')
    workspace.put(
        "ckptlint.toml",
        'extend = "base.toml"\nselect = ["CKP101"]\nbaseline = "known.json"\n'
        '[[call]]\nname = "ours.save"\nwho = "all"\neffect = "save"\n'
        '[per-file-ignores]\n"a b/ä.py" = ["CKP101"]\n',
    )
    text = shown(workspace)
    assert f"# {workspace.root}: 1 file to check\n" in text
    assert "# settings from ckptlint.toml which extends base.toml\n" in text
    assert "# and 1 fact of the project's own\n" in text
    assert tomllib.loads(text) == {
        "select": ["CKP101", "CKP900"],
        "confidence": "possible",
        "include-tests": False,
        "force-exclude": False,
        "extend-exclude": ["old"],
        "baseline": "known.json",
        "output-format": "full",
        "shared-filesystem": "unknown",
        "fix-style": "plain",
        "per-file-ignores": {"a b/ä.py": ["CKP101"]},
    }


def test_what_is_shown_gives_the_same_settings_again(workspace: Workspace) -> None:
    workspace.write(train=BAD)
    first = shown(workspace, "--ignore", "CKP103", "--confidence", "certain", "--include-tests")
    workspace.put("ckptlint.toml", first)
    assert shown(workspace).replace("ckptlint.toml", "") == first.replace("ckptlint.toml", "")


def test_each_project_is_shown(workspace: Workspace) -> None:
    workspace.write(one__a=GOOD, two__b=GOOD)
    workspace.put("one/ckptlint.toml", 'confidence = "certain"\n')
    workspace.put("two/ckptlint.toml", 'confidence = "possible"\n')
    text = shown(workspace)
    assert text.index('confidence = "certain"') < text.index('confidence = "possible"')
    assert "# settings from one/ckptlint.toml\n" in text


def test_without_files_the_settings_of_the_folder_are_shown(workspace: Workspace) -> None:
    assert "# settings from no file\n" in shown(workspace, "--isolated")
    assert "0 files to check" in shown(workspace)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('confidence = "probable"', "did you mean 'possible'?"),
        ('output-format = "githup"', "did you mean 'github'?"),
        ("base-line = 'x'", "unknown key 'base-line'; did you mean 'baseline'?"),
        ('[per-file-ignores]\n"x.py" = ["CPK103"]', "did you mean CKP103?"),
    ],
)
def test_what_was_probably_meant_is_told(workspace: Workspace, text: str, message: str) -> None:
    workspace.put("ckptlint.toml", text)
    for arguments in ([], ["--show-settings"]):
        result = workspace.run("check", *arguments)
        assert result.exit_code == 2
        assert message in result.stderr
