"""The methods of the protocol that the server answers."""

from __future__ import annotations

from lsprotocol import types

from ckptlint.config_file import CONFIG_NAMES
from ckptlint.finding import Span
from ckptlint.server import actions, hover
from ckptlint.server.diagnostics import diagnostic
from ckptlint.server.documents import Desk, Document, desk
from ckptlint.server.editor import Editor
from ckptlint.server.lenses import TRACE, Lens, drawing, lenses
from ckptlint.server.places import column_of, lines_of
from ckptlint.server.sight import sight

_WATCHED = ("**/*.py", "**/.gitignore", *(f"**/{name}" for name in CONFIG_NAMES))


def serve() -> None:
    """Serve one client over standard input and output until it leaves."""
    server = Editor()
    for method, answer, options in _FEATURES:
        server.feature(method, options)(answer)
    server.command(TRACE)(_trace)
    server.start_io()


def _initialize(server: Editor, params: types.InitializeParams) -> None:
    """Take the options of the client: ``{"trace": "html"}`` for pictures in the browser."""
    options = params.initialization_options
    if isinstance(options, dict) and options.get("trace") == "html":
        server.trace_format = "html"


async def _initialized(server: Editor, params: types.InitializedParams) -> None:
    """Ask to be told of changes on the disk, if the client can tell."""
    workspace = server.client_capabilities.workspace
    watching = workspace.did_change_watched_files if workspace is not None else None
    if watching is None or not watching.dynamic_registration:
        return
    options = types.DidChangeWatchedFilesRegistrationOptions(
        [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
    )
    registration = types.Registration(
        "ckptlint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options
    )
    await server.client_register_capability_async(types.RegistrationParams([registration]))


# -- texts ---------------------------------------------------------------------------------------


def _opened(
    server: Editor, params: types.DidOpenTextDocumentParams | types.DidOpenNotebookDocumentParams
) -> None:
    server.changed(0)


def _changed(
    server: Editor,
    params: types.DidChangeTextDocumentParams | types.DidChangeNotebookDocumentParams,
) -> None:
    server.changed()


def _closed(
    server: Editor,
    params: types.DidCloseTextDocumentParams | types.DidCloseNotebookDocumentParams,
) -> None:
    server.changed(0)


def _disk_changed(
    server: Editor,
    params: types.DidSaveTextDocumentParams
    | types.DidSaveNotebookDocumentParams
    | types.DidChangeWatchedFilesParams,
) -> None:
    server.disk_changed()


# -- questions -----------------------------------------------------------------------------------


async def _actions(server: Editor, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Offer what can be done about the findings of a range, and all safe fixes of the text."""
    only = params.context.only
    offered: list[types.CodeAction] = []
    if actions.wanted(types.CodeActionKind.QuickFix, only):
        offered += await _quick_fixes(server, params.text_document.uri, params.range)
    if only is not None and actions.wanted(actions.FIX_ALL, only):
        offered += await _fix_all(server, params.text_document.uri)
    return offered


async def _quick_fixes(server: Editor, uri: str, range_: types.Range) -> list[types.CodeAction]:
    checked = await server.attempt(server.check(fixes=False))
    # Trying fixes takes longer than finding faults, so it is done where there are some.
    if checked is None or not server.found_at(checked, uri, range_):
        return []
    checked = await server.attempt(server.check(fixes=True))
    if checked is None:
        return []
    places = server.places(checked.desk, checked.report.sources)
    offered: list[types.CodeAction] = []
    for finding in server.found_at(checked, uri, range_):
        shown = diagnostic(finding, places, related=True)
        for action in (actions.quick_fix(finding), actions.silence(finding, places.sources)):
            if action is not None:
                offered.append(action.written(shown, places, server.versioned_edits))
    return offered


async def _fix_all(server: Editor, uri: str) -> list[types.CodeAction]:
    now = desk(server.workspace)
    found = now.find(uri)
    report = await server.attempt(server.analysed(server.session.fixed, now))
    if found is None or report is None:
        return []
    document, cell = found
    edits = [
        edit
        for before, after in report.changes
        if before.path == document.path
        for edit in actions.differences(before, after, cell)
    ]
    if not edits:
        return []
    sources = {name: text for before, _ in report.changes for name, text in before.pieces.items()}
    places = server.places(now, sources)
    return [
        types.CodeAction(
            "Fix all that ckptlint can fix safely",
            actions.FIX_ALL,
            edit=actions.workspace_edit(edits, places, server.versioned_edits),
        )
    ]


async def _hover(server: Editor, params: types.HoverParams) -> types.Hover | None:
    """Tell what is known of the name under the cursor."""
    now = desk(server.workspace)
    found = now.find(params.text_document.uri)
    if found is None:
        return None
    return await server.attempt(server.analysed(_seen, server, now, *found, params.position))


def _seen(
    server: Editor, now: Desk, document: Document, cell: int, position: types.Position
) -> types.Hover | None:
    request = server.session.request(now, document.path)
    if request is None:
        return None
    source = request.sources[0]
    lines = lines_of(source.pieces.get(Span(source.display, 1, 1, 1, 1, cell).name))
    if position.line >= len(lines):
        return None
    places = server.places(now, source.pieces)
    column = column_of(places.codec, lines[position.line], position.character)
    seen = sight(request, source, source.line(cell, position.line + 1), column)
    if seen is None:
        return None
    content = types.MarkupContent(types.MarkupKind.Markdown, hover.markdown(seen))
    return types.Hover(content, places.range(source.placed(seen.span)))


async def _lenses(server: Editor, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Say above each function that communicates what each rank does in it."""
    now = desk(server.workspace)
    uri = params.text_document.uri
    found = now.find(uri)
    if found is None:
        return []
    document, cell = found
    work = server.analysed(_lenses_of, server, now, document)
    shown = await server.attempt(work) or []
    return [
        types.CodeLens(range_, types.Command(lens.title, TRACE, arguments=[uri, lens.function]))
        for lens, number, range_ in shown
        if number == cell
    ]


def _lenses_of(
    server: Editor, now: Desk, document: Document
) -> list[tuple[Lens, int, types.Range]]:
    request = server.session.request(now, document.path)
    if request is None:
        return []
    source = request.sources[0]
    places = server.places(now, source.pieces)
    found = [(lens, source.placed(lens.span)) for lens in lenses(request, source)]
    return [(lens, span.cell, places.start(span)) for lens, span in found]


async def _trace(server: Editor, uri: str, function: str) -> str | None:
    """Draw what each rank does in a function; show it, where the client can, and return it."""
    now = desk(server.workspace)
    found = now.find(uri)
    if found is None:
        return None
    drawn = await server.attempt(server.analysed(_drawing, server, now, found[0], function))
    if drawn is not None:
        server.show(function, drawn)
    return drawn


def _drawing(server: Editor, now: Desk, document: Document, function: str) -> str | None:
    request = server.session.request(now, document.path)
    return None if request is None else drawing(request, function, server.trace_format)


_FEATURES = (
    (types.INITIALIZE, _initialize, None),
    (types.INITIALIZED, _initialized, None),
    (types.TEXT_DOCUMENT_DID_OPEN, _opened, None),
    (types.TEXT_DOCUMENT_DID_CHANGE, _changed, None),
    (types.TEXT_DOCUMENT_DID_CLOSE, _closed, None),
    (types.TEXT_DOCUMENT_DID_SAVE, _disk_changed, None),
    (types.NOTEBOOK_DOCUMENT_DID_OPEN, _opened, None),
    (types.NOTEBOOK_DOCUMENT_DID_CHANGE, _changed, None),
    (types.NOTEBOOK_DOCUMENT_DID_CLOSE, _closed, None),
    (types.NOTEBOOK_DOCUMENT_DID_SAVE, _disk_changed, None),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, _disk_changed, None),
    (
        types.TEXT_DOCUMENT_CODE_ACTION,
        _actions,
        types.CodeActionOptions([types.CodeActionKind.QuickFix, actions.FIX_ALL]),
    ),
    (types.TEXT_DOCUMENT_HOVER, _hover, None),
    (types.TEXT_DOCUMENT_CODE_LENS, _lenses, None),
)
