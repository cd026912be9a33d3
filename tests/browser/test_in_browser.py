"""The pages in a real browser: ``make browser``, which needs a chromium.

Apart from the other tests, since a browser is no Python package; CI installs one and runs them.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from chromium import run

ROOT = Path(__file__).parents[2]
LIGHT, DARK = (255, 255, 255), (20, 23, 28)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a report, and a page of pictures, of the examples."""
    path = tmp_path_factory.mktemp("pages")
    commands = (
        ["check", "examples", "--output-format", "html", "--exit-zero"],
        ["trace", "examples/accelerate_finetune.py", "--output-format", "html"],
    )
    for command in commands:
        target = str(path / f"{command[0]}.html")
        subprocess.run(
            [sys.executable, "-m", "ckptlint", *command, "--output-file", target],
            cwd=ROOT,
            check=True,
        )
    return path


def shown(folder: Path, address: str) -> str:
    """Return the page as it stands after its script has run."""
    return run(folder, "--dump-dom", f"file://{folder}/{address}")


def visible(dom: str) -> list[str]:
    """Return the paths of the findings that are not hidden."""
    findings = re.findall(r'<details class="finding[^>]*>', dom)
    return [re.findall(r'data-path="([^"]*)"', f)[0] for f in findings if ' hidden=""' not in f]


def test_all_findings_are_shown_at_first(folder: Path) -> None:
    dom = shown(folder, "check.html")
    assert len(visible(dom)) > 3
    assert re.search(r'<output aria-live="polite">(\d+) of \1 shown<', dom)
    assert '<form class="filters">' in dom


def test_the_address_filters(folder: Path) -> None:
    dom = shown(folder, "check.html#rule=CKP101&path=deepspeed")
    assert visible(dom) == ["examples/deepspeed_pretrain.py"]
    assert '<p class="nothing" hidden="">' in dom
    dom = shown(folder, "check.html#severity=warning&path=deepspeed")
    assert visible(dom) == []
    assert '<p class="nothing">' in dom


def test_a_link_to_a_finding_unfolds_it(folder: Path) -> None:
    dom = shown(folder, "check.html#f6")
    assert re.search(r'<details class="finding[^>]* id="f6"[^>]* open=""', dom)


@pytest.mark.parametrize("name", ["check", "trace"])
@pytest.mark.parametrize(("scheme", "paper"), [("1", LIGHT), ("0", DARK)], ids=["light", "dark"])
def test_pages_follow_the_colour_scheme(
    folder: Path, name: str, scheme: str, paper: tuple[int, int, int]
) -> None:
    target = folder / f"{name}-{scheme}.png"
    run(
        folder,
        f"--blink-settings=preferredColorScheme={scheme}",
        "--window-size=700,700",
        f"--screenshot={target}",
        f"file://{folder}/{name}.html",
    )
    pixels = decoded(target.read_bytes())
    assert pixels[0][0] == paper
    colours = {pixel for row in pixels for pixel in row}
    assert len(colours) > 200, "text and drawings have many shades"


@pytest.mark.parametrize("name", ["check", "trace"])
@pytest.mark.parametrize("width", [400, 1400])
def test_pages_are_not_wider_than_the_window(folder: Path, name: str, width: int) -> None:
    text = (folder / f"{name}.html").read_text()
    probe = "<script>document.title = document.documentElement.scrollWidth - innerWidth</script>"
    (folder / "probe.html").write_text(text.replace("</body>", f"{probe}</body>"))
    dom = run(folder, f"--window-size={width},900", "--dump-dom", f"file://{folder}/probe.html")
    assert "<title>0</title>" in dom


def test_the_report_prints_every_finding(folder: Path) -> None:
    target = folder / "report.pdf"
    run(folder, f"--print-to-pdf={target}", f"file://{folder}/check.html")
    assert target.read_bytes().count(b"/Type /Page\n") > 3


def decoded(data: bytes) -> list[list[tuple[int, int, int]]]:
    """Decode a PNG of eight bits a channel, as chromium writes them (RFC 2083)."""
    position, packed = 8, b""
    width = height = size = 0
    while position < len(data):
        length, kind = struct.unpack(">I4s", data[position : position + 8])
        body = data[position + 8 : position + 8 + length]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", body[:10])
            size = {2: 3, 6: 4}[colour]
        elif kind == b"IDAT":
            packed += body
        position += length + 12
    raw = zlib.decompress(packed)
    rows: list[list[tuple[int, int, int]]] = []
    above = bytes(width * size)
    for number in range(height):
        start = number * (width * size + 1)
        line = _unfiltered(raw[start], raw[start + 1 : start + 1 + width * size], above, size)
        rows.append([(line[i], line[i + 1], line[i + 2]) for i in range(0, len(line), size)])
        above = line
    return rows


def _unfiltered(kind: int, line: bytes, above: bytes, size: int) -> bytes:
    result = bytearray(line)
    for i in range(len(result)):
        left = result[i - size] if i >= size else 0
        corner = above[i - size] if i >= size else 0
        guess = (0, left, above[i], (left + above[i]) // 2, _paeth(left, above[i], corner))[kind]
        result[i] = (result[i] + guess) & 255
    return bytes(result)


def _paeth(left: int, up: int, corner: int) -> int:
    estimate = left + up - corner
    return min((left, up, corner), key=lambda value: abs(estimate - value))
