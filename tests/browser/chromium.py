"""A browser without a window."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path


def run(folder: Path, *arguments: str) -> str:
    """Run chromium with a profile in ``folder``; return what it prints.

    Raises FileNotFoundError where there is none.
    """
    program = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
    return subprocess.run(
        [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--hide-scrollbars",
            f"--user-data-dir={folder / 'profile'}",
            *arguments,
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
