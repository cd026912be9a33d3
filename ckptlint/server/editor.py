"""One client: what it has open, what it can show, and when the analysis runs.

The analysis runs in one thread, a moment after the last change; the loop that talks to the client
never waits for it. Texts that changed meanwhile are analysed again before anything is shown.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from ckptlint import __version__
from ckptlint.baseline import BaselineError
from ckptlint.config import ConfigError
from ckptlint.finding import Finding
from ckptlint.runner import Report
from ckptlint.server.actions import overlaps
from ckptlint.server.diagnostics import diagnostic
from ckptlint.server.documents import Desk, desk
from ckptlint.server.lenses import Format
from ckptlint.server.places import Places
from ckptlint.server.session import Session
from ckptlint.source import Source

_DELAY = 0.25  # seconds without a change before the texts are analysed
_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook="jupyter-notebook",
            cells=[types.NotebookCellLanguage(language="python")],
        )
    ]
)
_T = TypeVar("_T")


@dataclass(frozen=True)
class Checked:
    """The outcome of an analysis of what was open at one moment."""

    desk: Desk
    report: Report


class Editor(LanguageServer):
    """One client and what it has open."""

    def __init__(self) -> None:
        super().__init__(
            "ckptlint",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Full,
            notebook_document_sync=_NOTEBOOKS,
        )
        self.analysis = ThreadPoolExecutor(1, "ckptlint")
        self._session: Session | None = None
        self._checked: dict[bool, Checked] = {}
        self._turn = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._published: set[str] = set()
        self._told: set[str] = set()
        # How pictures are shown: as text in the editor, or as a page in the browser.
        self.trace_format: Format = "text"
        self._shown = TemporaryDirectory(prefix="ckptlint-")

    @property
    def session(self) -> Session:
        """The projects of this client."""
        if self._session is None:
            root = self.workspace.root_path
            self._session = Session(Path(root) if root else Path.cwd())
        return self._session

    async def analysed(self, work: Callable[..., _T], *arguments: object) -> _T:
        """Run a piece of the analysis in its thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.analysis, work, *arguments)

    # -- findings --------------------------------------------------------------------------------

    def changed(self, delay: float = _DELAY) -> None:
        """Analyse what is open after a moment in which nothing else changes."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(delay, self._start)

    def disk_changed(self) -> None:
        """Look up anew which files there are."""
        self._checked.clear()
        self.analysis.submit(self.session.forget)
        self.changed(0)

    def _start(self) -> None:
        task = asyncio.ensure_future(self._publish())
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _publish(self) -> None:
        checked = await self.attempt(self.check(fixes=False))
        if checked is None or checked.desk.versions != desk(self.workspace).versions:
            return  # what changed meanwhile has a timer of its own
        places = self.places(checked.desk, checked.report.sources)
        found: dict[str, list[types.Diagnostic]] = {uri: [] for uri in checked.desk.uris()}
        related = self._shows_related
        for finding in checked.report.new:
            uri = places.shown(finding.span).uri
            if uri in found:
                found[uri].append(diagnostic(finding, places, related))
        versions = dict(checked.desk.versions)
        for uri in self._published - found.keys():
            self._show(uri, [], None)
        for uri, diagnostics in found.items():
            self._show(uri, diagnostics, versions[uri])
        self._published = set(found)

    def _show(self, uri: str, found: list[types.Diagnostic], version: int | None) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    async def check(self, fixes: bool) -> Checked:
        """Return the findings of what is open now, with their fixes if wanted."""
        async with self._turn:
            now = desk(self.workspace)
            for known in (self._checked.get(True), self._checked.get(fixes)):
                if known is not None and known.desk.versions == now.versions:
                    return known
            report = await self.analysed(self.session.check, now, fixes)
            checked = self._checked[fixes] = Checked(now, report)
            return checked

    async def attempt(self, work: Awaitable[_T]) -> _T | None:
        """Await a piece of work; settings that cannot be used are told once, and so is a fault of
        our own. Neither ends the server."""
        try:
            return await work
        except (ConfigError, BaselineError) as error:
            self._tell(str(error), types.MessageType.Error)
        except Exception as error:
            trace = "".join(traceback.format_exception(error))
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, trace))
            self._tell("a fault of ckptlint itself; please report it", types.MessageType.Error)
        return None

    def _tell(self, text: str, kind: types.MessageType) -> None:
        if text not in self._told:
            self._told.add(text)
            self.window_show_message(types.ShowMessageParams(kind, f"ckptlint: {text}"))

    def show(self, name: str, text: str) -> None:
        """Show a text that is no file of the project, where the client can."""
        window = self.client_capabilities.window
        if window is None or window.show_document is None or not window.show_document.support:
            return
        plain = self.trace_format == "text"
        path = Path(self._shown.name) / f"{name.strip('<>')}.{'txt' if plain else 'html'}"
        path.write_text(text, encoding="utf-8")
        self.window_show_document(
            types.ShowDocumentParams(path.as_uri(), external=not plain, take_focus=True)
        )

    # -- what the client can do ------------------------------------------------------------------

    def places(self, open_: Desk, sources: Mapping[str, Source]) -> Places:
        """Return how places in these texts are written for this client."""
        return Places(open_, sources, self.session.cwd, self.workspace.position_codec)

    @property
    def _shows_related(self) -> bool:
        document = self.client_capabilities.text_document
        published = document.publish_diagnostics if document is not None else None
        return bool(published is not None and published.related_information)

    @property
    def versioned_edits(self) -> bool:
        """Whether edits may name the version of the text that they are for."""
        workspace = self.client_capabilities.workspace
        edit = workspace.workspace_edit if workspace is not None else None
        return bool(edit is not None and edit.document_changes)

    def found_at(self, checked: Checked, uri: str, range_: types.Range) -> list[Finding]:
        """Return the findings of a text that touch a range."""
        places = self.places(checked.desk, checked.report.sources)
        return [
            finding
            for finding in checked.report.new
            if places.shown(finding.span).uri == uri
            and overlaps(places.range(finding.span), range_)
        ]
