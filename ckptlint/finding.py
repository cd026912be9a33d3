"""What the linter says: findings, the places they name, and the fixes they offer."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Severity(str, Enum):
    """How bad the fault is where it bites.

    ``ERROR`` hangs or loses data under a backend in evidence; ``WARNING`` does so only under
    another backend or set-up.
    """

    ERROR = "error"
    WARNING = "warning"


class Confidence(str, Enum):
    """How sure the analysis is; the levels are ordered by :attr:`level`."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"

    @property
    def level(self) -> int:
        """Return 2 for certain, 1 for likely, 0 for possible."""
        return {"certain": 2, "likely": 1, "possible": 0}[self.value]


class Applicability(str, Enum):
    """Whether a fix may be applied without being read (ruff's meaning of safe and unsafe)."""

    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, order=True)
class Span:
    """A piece of a file. Lines and columns count from 1; columns are code points; the end is
    exclusive. ``path`` is as the user would name it.

    ``cell`` is the number of a notebook's cell, counted from 1, in which lines count; 0 is none.
    During the analysis a notebook is one program, and no place has a cell.
    """

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    cell: int = 0

    @property
    def name(self) -> str:
        """The file, or the cell of a notebook: ``train.ipynb:cell 3``."""
        return f"{self.path}:cell {self.cell}" if self.cell else self.path


@dataclass(frozen=True)
class Related:
    """A place that explains a finding: the rank test, the early exit, a call on the way.

    ``step`` says that it lies on the way from what keeps ranks apart to the operation.
    """

    span: Span
    message: str
    step: bool = False


@dataclass(frozen=True)
class Edit:
    """Replace the text of ``span`` by ``text``; an empty span inserts."""

    span: Span
    text: str


@dataclass(frozen=True)
class Fix:
    """A rewrite that clears its finding; it was analysed again before it was offered."""

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Finding:
    """One fault. ``message`` says which ranks do what; ``help`` says what to do about it."""

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    help: str
    span: Span
    function: str
    related: tuple[Related, ...] = field(default=())
    fix: Fix | None = None
    baselined: bool = False

    @property
    def sort_key(self) -> tuple[str, int, int, int, str]:
        """Order of findings in every output."""
        span = self.span
        return (span.path, span.cell, span.line, span.column, self.code)

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """What stays the same when lines move: used to compare a file before and after a fix."""
        return (self.code, self.span.path, self.function, self.message)
