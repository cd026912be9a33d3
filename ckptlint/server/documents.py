"""What is open in the editor, as files with the bytes that saving them would write."""

from __future__ import annotations

import io
import json
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types
from pygls.uris import to_fs_path
from pygls.workspace import Workspace

from ckptlint.finding import Span

_LANGUAGE = "python"


@dataclass(frozen=True)
class Shown:
    """One text in the editor: a file, or a cell of a notebook."""

    uri: str
    version: int | None


@dataclass(frozen=True)
class Document:
    """An open file. ``texts`` holds the texts that the user sees, by the number of the cell in a
    notebook, by 0 otherwise."""

    path: Path
    data: bytes
    texts: Mapping[int, Shown]


@dataclass(frozen=True)
class Desk:
    """Everything that is open at one moment, by path."""

    documents: Mapping[Path, Document]

    @property
    def versions(self) -> tuple[tuple[str, int | None], ...]:
        """What tells this moment from another."""
        return tuple(
            (text.uri, text.version)
            for document in self.documents.values()
            for text in document.texts.values()
        )

    def uris(self) -> Iterator[str]:
        """Yield the URIs of all texts."""
        return (uri for uri, _ in self.versions)

    def find(self, uri: str) -> tuple[Document, int] | None:
        """Return the document that a text belongs to, and the number of its cell."""
        for document in self.documents.values():
            for cell, text in document.texts.items():
                if text.uri == uri:
                    return document, cell
        return None

    def shown(self, path: Path, span: Span) -> Shown | None:
        """Return the text in which a place of a file is shown, if it is open."""
        document = self.documents.get(path)
        return None if document is None else document.texts.get(span.cell)


def desk(workspace: Workspace) -> Desk:
    """Take down what is open in the editor. What is no file yet is left out."""
    found: dict[Path, Document] = {}
    cells: set[str] = set()
    for notebook in workspace.notebook_documents.values():
        cells.update(cell.document for cell in notebook.cells)
        path = _path(notebook.uri)
        if path is not None:
            found[path] = _notebook(path, notebook, workspace)
    for text in workspace.text_documents.values():
        path = _path(text.uri)
        if path is None or text.uri in cells or text.language_id not in (_LANGUAGE, None):
            continue
        if path.suffix != ".ipynb":  # the JSON of a notebook is checked from the disk only
            found[path] = Document(path, _encoded(text.source), {0: Shown(text.uri, text.version)})
    return Desk(found)


def _path(uri: str) -> Path | None:
    if not uri.startswith("file:"):
        return None
    path = to_fs_path(uri)
    return None if path is None else Path(path)


def _encoded(text: str) -> bytes:
    """Encode a text as its own cookie says."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return text.encode(encoding)
    except (SyntaxError, LookupError, UnicodeEncodeError):
        return data


def _notebook(path: Path, notebook: types.NotebookDocument, workspace: Workspace) -> Document:
    """Write the cells as a notebook, which is how the analysis reads them."""
    written: list[dict[str, object]] = []
    texts: dict[int, Shown] = {}
    for number, cell in enumerate(notebook.cells, 1):
        text = workspace.get_text_document(cell.document)
        code = cell.kind == types.NotebookCellKind.Code
        written.append(
            {
                "cell_type": "code" if code else "markdown",
                "metadata": {"vscode": {"languageId": text.language_id or _LANGUAGE}},
                "source": text.source,
            }
        )
        texts[number] = Shown(cell.document, text.version)
    data = json.dumps({"nbformat": 4, "metadata": {}, "cells": written}).encode()
    return Document(path, data, texts)
