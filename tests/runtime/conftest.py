"""Import path and shared fixtures of the runtime's tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the runtime's tests need torch (pip install torch)")

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "runtime_shim")]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: the heavier remainder of the fault matrix (world 4)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Slow cells run when asked for by ``-m``, and are deselected, visibly, otherwise."""
    if config.option.markexpr:
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
