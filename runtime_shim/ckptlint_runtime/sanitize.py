"""Run a script under the sanitizer: ``torchrun … -m ckptlint_runtime.sanitize script.py args``."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence

from .sanitizer import DEFAULT_PATIENCE, Sanitizer, sanitize

__all__ = ["Sanitizer", "main", "sanitize"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Start the check, then run the script as if it had been called itself."""
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}.sanitize",
        description="Raise on every rank, with who is where, where collectives do not match.",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=DEFAULT_PATIENCE,
        metavar="SECONDS",
        help="how much later than the others a rank may come (default: %(default)g)",
    )
    parser.add_argument(
        "--only-checkpoints",
        action="store_true",
        help="look only at collectives made while saving or loading checkpoints",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module")
    parser.add_argument("script")
    parser.add_argument("args", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    sys.argv = [options.script, *options.args]
    sanitize(patience=options.patience, only_checkpoints=options.only_checkpoints)
    if options.module:
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(options.script, run_name="__main__")


if __name__ == "__main__":
    main()
