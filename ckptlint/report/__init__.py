"""Output formats, one module each; every module has ``render(report, screen) -> str``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:  # the command line imports this package early, and the runner is heavy
    from ckptlint.report.styled import Screen
    from ckptlint.runner import Report


def render(report: Report, output_format: str, screen: Screen) -> str:
    """Write a report in the format of this name (a name of ``ckptlint.choices.FORMATS``)."""
    module = import_module(f"ckptlint.report.{output_format}")
    return cast(str, module.render(report, screen))
