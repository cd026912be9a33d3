"""The lists of the corpus and the marks of its findings are complete."""

from __future__ import annotations

import re
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CORPUS = Path(__file__).parents[2] / "corpus"


def read(name: str, table: str) -> list[dict[str, object]]:
    entries = tomllib.loads((CORPUS / name).read_text(encoding="utf-8"))[table]
    assert isinstance(entries, list)
    return entries


def test_every_package_is_pinned_by_version_and_hash():
    training, harmless = read("packages.toml", "package"), read("harmless.toml", "package")
    assert len(training) >= 25
    assert len(harmless) == 20
    for package in training + harmless:
        assert re.fullmatch(r"[0-9a-f]{64}", str(package["sha256"])), package["name"]
        assert package["version"]


def test_every_finding_was_read_and_has_a_reason():
    known = {f"{p['name']}-{p['version']}" for p in read("packages.toml", "package")}
    for finding in read("findings.toml", "finding"):
        assert finding["package"] in known
        assert finding["mark"] in ("right", "arguable", "wrong"), finding
        assert finding["reason"], finding


def test_nine_findings_of_ten_are_right():
    marks = [finding["mark"] for finding in read("findings.toml", "finding")]
    assert marks.count("right") >= 0.9 * len(marks)
