"""The documentation site in a real browser: it fits the window, and its search finds."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from chromium import run

ROOT = Path(__file__).parents[2]
PATIENCE = 6  # seconds that a page is kept from being complete, for its search to answer


class _Server(SimpleHTTPRequestHandler):
    """Serves the site; ``/wait`` answers late, so that the browser waits with its copy."""

    def do_GET(self) -> None:
        if self.path == "/wait":
            time.sleep(PATIENCE)
            self.send_error(404)
            return
        super().do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Server, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def with_script(site: Path, page: str, script: str) -> str:
    """Write a copy of a page with something added, and return its name."""
    path = site / page / "index.html"
    text = path.read_text(encoding="utf-8").replace("</body>", f"{script}</body>")
    path.with_name("probe.html").write_text(text, encoding="utf-8")
    return f"{page}/probe.html"


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize(
    "page", ["", "how-it-thinks", "rules/CKP101", "frameworks/torch", "commands", "ci"]
)
def test_pages_fit_the_window(
    site: Path, address: str, tmp_path: Path, page: str, width: int
) -> None:
    measure = "document.documentElement.scrollWidth - innerWidth"
    name = with_script(site, page, f"<script>document.title = {measure}</script>")
    dom = run(tmp_path, f"--window-size={width},900", "--dump-dom", f"{address}/{name}")
    assert "<title>0</title>" in dom


def test_the_search_finds(site: Path, address: str, tmp_path: Path) -> None:
    name = with_script(site, "rules", '<img src="/wait" alt="">')
    dom = run(tmp_path, "--dump-dom", f"{address}/{name}?q=collective-save-on-some-ranks")
    results = dom.partition('id="mkdocs-search-results"')[2].partition("</header>")[0]
    assert "CKP101: collective-save-on-some-ranks" in results
    assert 'href="../rules/CKP101/' in results
