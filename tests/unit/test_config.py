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
        ('[[call]]\nname = "a.b"\nwhoo = "all"', "unknown key 'whoo'; did you mean 'who'?"),
        ('[[call]]\nname = "a.b"\nzzz = 1', "unknown key 'zzz'; one of name, who, "),
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


# -- files that extend others ----------------------------------------------------------------------


def extended(tmp_path: Path, base: str, own: str) -> Settings:
    (tmp_path / "base.toml").write_text(base)
    folder = tmp_path / "project"
    folder.mkdir()
    return settings(folder, f'extend = "../base.toml"\n{own}')


def test_a_file_overrides_what_it_extends(tmp_path: Path) -> None:
    base = (
        'ignore = ["CKP101"]\nconfidence = "possible"\noutput-format = "json"\n'
        'exclude = ["gen"]\nextend-exclude = ["old"]\nbaseline = "known.json"\n'
    )
    found = extended(tmp_path, base, 'output-format = "github"\nextend-exclude = ["new"]\n')
    assert found.origins == (
        tmp_path / "project" / ".." / "base.toml",
        tmp_path / "project" / "ckptlint.toml",
    )
    assert found.codes == {"CKP102", "CKP900"}
    assert found.confidence is Confidence.POSSIBLE
    assert found.output_format == "github"
    assert found.baseline == tmp_path / "project" / ".." / "known.json"
    assert found.exclude is not None
    assert (found.exclude.base.resolve(), found.exclude.lines) == (tmp_path, ("gen",))
    assert [(g.base.resolve(), g.lines) for g in found.extend_exclude] == [
        (tmp_path, ("old",)),
        (tmp_path / "project", ("new",)),
    ]


@pytest.mark.parametrize(
    ("base", "own", "codes"),
    [
        ('ignore = ["CKP101"]', 'select = ["CKP101"]', "101 900"),
        ('select = ["CKP101"]', 'extend-select = ["CKP110"]', "101 110 900"),
        ('ignore = ["CKP101"]', 'ignore = ["CKP102"]', "900"),
        ('select = ["ALL"]', 'ignore = ["CKP1"]', "900"),
    ],
)
def test_selections_are_layers(tmp_path: Path, base: str, own: str, codes: str) -> None:
    found = extended(tmp_path, base, own)
    assert found.codes == {f"CKP{number}" for number in codes.split()}


def test_ignores_of_files_and_facts_of_both_hold(tmp_path: Path) -> None:
    record = '[[call]]\nname = "{}.save"\nwho = "all"\neffect = "save"\n'
    found = extended(
        tmp_path,
        record.format("base") + '[per-file-ignores]\n"a/*" = ["CKP101"]\n',
        record.format("own") + '[per-file-ignores]\n"b/*" = ["CKP102"]\n',
    )
    assert [call.name for call in found.facts.of(Call)] == ["base.save", "own.save"]
    assert [(each.base.name, each.pattern) for each in found.per_file_ignores] == [
        ("..", "a/*"),
        ("project", "b/*"),
    ]


def test_what_is_extended_may_extend_another_and_a_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.ckptlint]\nconfidence = "certain"\n')
    found = extended(tmp_path, 'extend = "pyproject.toml"\ninclude-tests = true\n', "")
    assert (found.confidence, found.include_tests) == (Confidence.CERTAIN, True)
    assert [path.name for path in found.origins] == ["pyproject.toml", "base.toml", "ckptlint.toml"]


def test_what_is_wrong_with_extending_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ckptlint.toml: extend: there is no file .*gone.toml"):
        settings(tmp_path, 'extend = "gone.toml"')
    (tmp_path / "base.toml").write_text('extend = "ckptlint.toml"\n')
    with pytest.raises(ConfigError, match=r"ckptlint.toml: extends itself: .*base.toml → "):
        settings(tmp_path, 'extend = "base.toml"')
    (tmp_path / "base.toml").write_text('ignore = ["CKP7"]\n')
    with pytest.raises(ConfigError, match=r"base.toml: unknown rule code 'CKP7'"):
        settings(tmp_path, 'extend = "base.toml"')
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')
    with pytest.raises(ConfigError, match=r"pyproject.toml: has no table \[tool.ckptlint\]"):
        settings(tmp_path, 'extend = "pyproject.toml"')
    with pytest.raises(ConfigError, match="extend must be the name of a file"):
        settings(tmp_path, "extend = []")
