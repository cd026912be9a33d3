"""Settings: where they are found, what they may say, and how errors read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckptlint.catalogue import UnknownCodeError, find
from ckptlint.config import ConfigError, FileIgnores, Globs, Overrides, Settings, load
from ckptlint.facts import Call, Guard
from ckptlint.finding import Confidence, Severity
from ckptlint.rule import Rule


def rule(code: str, default: bool = True) -> Rule:
    return Rule(
        code,
        f"name-of-{code.lower()}",
        "0.1.0",
        Severity.ERROR,
        Confidence.CERTAIN,
        "none",
        "Summary.\n",
        default,
    )


KNOWN = {
    each.code: each
    for each in (rule("CKP101"), rule("CKP102"), rule("CKP110", False), rule("CKP900"))
}


def settings(folder: Path, text: str = "", **overrides: object) -> Settings:
    (folder / "ckptlint.toml").write_text(text, encoding="utf-8")
    return load(folder, Overrides(**overrides), KNOWN)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "overrides", "codes"),
    [
        ("", {}, "101 102 900"),
        ('select = ["CKP101"]', {}, "101 900"),
        ('select = ["CKP11", "CKP102"]', {}, "102 110 900"),
        ('select = ["ALL"]', {}, "101 102 110 900"),
        ('select = ["CKP1"]\nignore = ["CKP101"]', {}, "102 110 900"),
        ('ignore = ["CKP1"]\nextend-select = ["CKP101"]', {}, "101 900"),
        ('ignore = ["CKP101"]\nselect = ["CKP101"]', {}, "900"),
        ('extend-select = ["CKP110"]', {}, "101 102 110 900"),
        ('ignore = ["ALL"]', {}, "900"),
        ('ignore = ["CKP900"]', {}, "101 102"),
        ('ignore = ["CKP101"]', {"select": ("CKP101",)}, "101 900"),
        ('select = ["CKP101"]', {"extend_select": ("CKP102",)}, "101 102 900"),
        ('select = ["CKP101", "CKP102"]', {"ignore": ("CKP102",)}, "101 900"),
        ('ignore = ["CKP101"]', {"ignore": ("CKP102",)}, "900"),
    ],
)
def test_which_rules_are_on(
    tmp_path: Path, text: str, overrides: dict[str, object], codes: str
) -> None:
    assert settings(tmp_path, text, **overrides).codes == {f"CKP{n}" for n in codes.split()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slect = []", "unknown key 'slect'; did you mean 'select'?"),
        ("extend_select = []", "unknown key 'extend_select'; did you mean 'extend-select'?"),
        ("zzz = 1", "unknown key 'zzz'; known keys: extend, baseline, select, "),
        ('select = "CKP101"', "select must be a list of strings"),
        ("include-tests = 1", "include-tests must be true or false"),
        ('confidence = "sure"', 'confidence is "sure"; one of "certain", "likely", "possible"'),
        ("shared-filesystem = 1", 'shared-filesystem is 1; one of true, false, "unknown"'),
        ('output-format = "xml"', 'output-format is "xml"; one of "full", '),
        ('ignore = ["CKP11O"]', "unknown rule code 'CKP11O'; did you mean CKP110?"),
        ('ignore = ["E501"]', "unknown rule code 'E501'; `ckptlint rules` lists the codes"),
        ("per-file-ignores = []", "per-file-ignores must map patterns to lists of codes"),
        ('[per-file-ignores]\n"*.py" = ["CKP7"]', "per-file-ignores: unknown rule code 'CKP7'"),
        ("[call]\nname = 1", "[tool.ckptlint.call] must be written [[...]]"),
        ("call = [1]", "[tool.ckptlint.call] must be written [[...]]"),
        ('[[call]]\nname = "a.b"', "missing effect, who"),
        ('[[call]]\nname = "a.b"\nwhoo = "all"', "unknown key 'whoo'"),
        ("select = [", "(at end of document)"),
    ],
)
def test_what_is_wrong_is_told_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings(tmp_path, text)
    assert str(error.value).startswith(f"{tmp_path / 'ckptlint.toml'}: ")
    assert message.lower() in str(error.value).lower()


def test_the_nearest_file_that_speaks_of_it_holds(tmp_path: Path) -> None:
    inner = tmp_path / "package"
    inner.mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.ckptlint]\nignore = ["CKP101"]\n')
    (inner / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert load(inner, Overrides(), KNOWN).origins == (tmp_path / "pyproject.toml",)
    (inner / ".ckptlint.toml").write_text('ignore = ["CKP102"]\n')
    found = load(inner, Overrides(), KNOWN)
    assert found.origins == (inner / ".ckptlint.toml",)
    assert found.codes == {"CKP101", "CKP900"}


def test_a_named_file_holds_instead_and_must_speak_of_it(tmp_path: Path) -> None:
    other = tmp_path / "pyproject.toml"
    other.write_text('[project]\nname = "x"\n')
    with pytest.raises(ConfigError, match=r"has no table \[tool.ckptlint\]"):
        load(tmp_path, Overrides(config=other), KNOWN)
    other.write_text('[tool.ckptlint]\nconfidence = "certain"\n')
    (tmp_path / "ckptlint.toml").write_text('confidence = "possible"\n')
    assert load(tmp_path, Overrides(config=other), KNOWN).confidence is Confidence.CERTAIN
    assert load(tmp_path, Overrides(isolated=True), KNOWN).confidence is Confidence.LIKELY


def test_the_other_keys(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        'confidence = "possible"\nexclude = ["gen"]\nextend-exclude = ["old"]\n'
        "include-tests = true\nforce-exclude = true\nshared-filesystem = false\n"
        'fix-style = "runtime"\noutput-format = "json"\n[per-file-ignores]\n"a/*.py" = ["CKP10"]\n',
    )
    assert found.confidence is Confidence.POSSIBLE
    assert found.exclude == Globs(tmp_path, ("gen",))
    assert found.extend_exclude == (Globs(tmp_path, ("old",)),)
    assert found.include_tests
    assert found.force_exclude
    assert found.shared_filesystem is False
    assert (found.fix_style, found.output_format) == ("runtime", "json")
    codes = frozenset({"CKP101", "CKP102"})
    assert found.per_file_ignores == (FileIgnores(tmp_path, "a/*.py", codes),)


def test_the_file_system_is_unknown_unless_told(tmp_path: Path) -> None:
    assert settings(tmp_path).shared_filesystem is None
    assert settings(tmp_path, 'shared-filesystem = "unknown"').shared_filesystem is None


def test_own_facts_need_no_source(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        '[[call]]\nname = "ours.save"\nwho = "all"\neffect = "save"\n'
        '[[guard]]\nname = "ours.main"\nform = "decorator"\nranks = "first"\nsource = "wiki"\n',
    )
    (call,) = found.facts.of(Call)
    (guard,) = found.facts.of(Guard)
    assert (call.name, call.source) == ("ours.save", "project settings")
    assert guard.source == "wiki"


def test_rules_are_found_by_code_and_by_name() -> None:
    assert find("ckp101", KNOWN).code == "CKP101"
    assert find("name-of-ckp110", KNOWN).code == "CKP110"
    with pytest.raises(UnknownCodeError, match="did you mean name-of-ckp102"):
        find("name-of-ckp12", KNOWN)
