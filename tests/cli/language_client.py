"""A client of the language server, as an editor is one: messages over standard input and output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

_ROOT = Path(__file__).parents[2]
_LIMIT = 60.0  # seconds to wait for an answer, where the machine is busy

# What VS Code and Neovim say that they can do.
CAPABILITIES: dict[str, Any] = {
    "workspace": {
        "workspaceEdit": {"documentChanges": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
    },
    "textDocument": {"publishDiagnostics": {"relatedInformation": True, "versionSupport": True}},
    "window": {"showDocument": {"support": True}},
    "notebookDocument": {"synchronization": {}},
}
_ANSWERS = {"window/showDocument": {"success": True}}


class LanguageClient:
    """Starts a server and talks to it. Use as a context; leaving it ends the server."""

    def __init__(
        self,
        root: Path,
        capabilities: dict[str, Any] = CAPABILITIES,
        options: dict[str, Any] | None = None,
        program: Sequence[str] = ("-m", "ckptlint", "server"),
    ) -> None:
        self.root = root
        self.options = options
        self.program = program
        self.capabilities = capabilities
        self.received: list[dict[str, Any]] = []
        self.registered: list[str] = []
        self.versions: dict[str, int] = {}
        self.notebooks: dict[str, list[str]] = {}
        self._arrived = threading.Condition()
        self._next = 0

    def __enter__(self) -> LanguageClient:
        self.process = subprocess.Popen(
            [sys.executable, *self.program],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'rules'}"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._out, self._in = self.process.stdin, self.process.stdout
        self.errors: list[bytes] = []
        for target, stream in ((self._listen, self._in), (self._collect, self.process.stderr)):
            threading.Thread(target=target, args=(stream,), daemon=True).start()
        answer = self.request(
            "initialize",
            processId=os.getpid(),
            rootUri=self.root.as_uri(),
            capabilities=self.capabilities,
            initializationOptions=self.options,
            workspaceFolders=[{"uri": self.root.as_uri(), "name": "project"}],
        )
        self.server = answer["capabilities"]
        self.notify("initialized")
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.request("shutdown")
            self.notify("exit")
        assert self.process.wait(_LIMIT) == 0, b"".join(self.errors).decode()

    # -- messages ------------------------------------------------------------------------------

    def request(self, method: str, **params: Any) -> Any:
        """Ask, and return the answer; an error fails the test."""
        answer = self.ask(method, **params)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Ask, and return the whole answer."""
        self._next += 1
        number = self._next
        self.send({"id": number, "method": method, "params": params or None})
        return self.wait(lambda m: m.get("id") == number and "method" not in m)

    def notify(self, method: str, **params: Any) -> None:
        """Tell the server something."""
        self.send({"method": method, "params": params})

    def wait(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait for a message; the last of several."""

        def found() -> dict[str, Any] | None:
            return next((m for m in reversed(self.received) if wanted(m)), None)

        with self._arrived:
            message = self._arrived.wait_for(found, _LIMIT)
            assert message is not None, (self.received[-3:], self.errors)
            return message

    def send(self, message: dict[str, Any]) -> None:
        """Send a message as it is."""
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._out.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._out.flush()

    def _listen(self, stream: IO[bytes]) -> None:
        while header := stream.readline():
            length = int(header.split(b":")[1])
            while stream.readline().strip():
                pass
            message = json.loads(stream.read(length))
            if message.get("method") == "client/registerCapability":
                self.registered += [each["method"] for each in message["params"]["registrations"]]
            if "id" in message and "method" in message:
                self.send({"id": message["id"], "result": _ANSWERS.get(message["method"])})
            with self._arrived:
                self.received.append(message)
                self._arrived.notify_all()

    def _collect(self, stream: IO[bytes]) -> None:
        self.errors.extend(stream)

    # -- texts ---------------------------------------------------------------------------------

    def open(self, name: str, text: str | None = None) -> str:
        """Open a file, unsaved when ``text`` is given; return its URI."""
        path = self.root / name
        uri = path.as_uri()
        self.versions[uri] = 1
        text = path.read_bytes().decode() if text is None else text
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", textDocument=item)
        return uri

    def open_notebook(self, name: str, *cells: str) -> list[str]:
        """Open a notebook of code cells; return their URIs."""
        notebook = (self.root / name).as_uri()
        uris = [f"vscode-notebook-cell:{self.root / name}#{n}" for n in range(len(cells))]
        self.versions.update(dict.fromkeys(uris, 1))
        self.notebooks[notebook] = uris
        self.notify(
            "notebookDocument/didOpen",
            notebookDocument={
                "uri": notebook,
                "notebookType": "jupyter-notebook",
                "version": 1,
                "cells": [{"kind": 2, "document": uri} for uri in uris],
            },
            cellTextDocuments=[
                {"uri": uri, "languageId": "python", "version": 1, "text": cell}
                for uri, cell in zip(uris, cells, strict=True)
            ],
        )
        return uris

    def change_cell(self, name: str, uri: str, text: str) -> None:
        """Replace the text of a cell."""
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.notify(
            "notebookDocument/didChange",
            notebookDocument={
                "uri": (self.root / name).as_uri(),
                "version": self.versions[uri],
            },
            change={
                "cells": {"textContent": [{"document": document, "changes": [{"text": text}]}]}
            },
        )

    def close_all(self) -> None:
        """Close everything, and forget what was said."""
        for notebook, cells in self.notebooks.items():
            texts = [{"uri": uri} for uri in cells]
            self.notify(
                "notebookDocument/didClose",
                notebookDocument={"uri": notebook},
                cellTextDocuments=texts,
            )
            for uri in cells:
                del self.versions[uri]
        self.notebooks.clear()
        for uri in list(self.versions):
            self.close(uri)
        self.request("textDocument/codeLens", textDocument={"uri": "file:///nothing.py"})
        self.received.clear()

    def close(self, uri: str) -> None:
        """Close a file; what was not saved is gone."""
        del self.versions[uri]
        self.notify("textDocument/didClose", textDocument={"uri": uri})

    def change(self, uri: str, text: str) -> None:
        """Replace the text of an open file."""
        self.versions[uri] += 1
        self.notify(
            "textDocument/didChange",
            textDocument={"uri": uri, "version": self.versions[uri]},
            contentChanges=[{"text": text}],
        )

    def diagnostics(self, uri: str) -> list[dict[str, Any]]:
        """Wait until the findings of a text as it is now are shown."""
        return self._shown(uri, lambda found: True)

    def until(self, uri: str, *codes: str) -> list[dict[str, Any]]:
        """Wait until a text as it is now shows findings with these codes and no other."""
        return self._shown(uri, lambda found: [each["code"] for each in found] == list(codes))

    def _shown(
        self, uri: str, wanted: Callable[[list[dict[str, Any]]], bool]
    ) -> list[dict[str, Any]]:
        def shows(message: dict[str, Any]) -> bool:
            if message.get("method") != "textDocument/publishDiagnostics":
                return False
            params = message["params"]
            return params["uri"] == uri and params.get("version") == self.versions.get(uri)

        def last() -> list[dict[str, Any]] | None:
            shown = next((m for m in reversed(self.received) if shows(m)), None)
            found = None if shown is None else shown["params"]["diagnostics"]
            return found if found is not None and wanted(found) else None

        with self._arrived:
            found = self._arrived.wait_for(
                lambda: (last(),) if last() is not None else None, _LIMIT
            )
            assert found is not None, self.received[-3:]
            return found[0]

    def actions(self, uri: str, line: int, only: list[str] | None = None) -> list[dict[str, Any]]:
        """Ask what can be done about a line (from 0)."""
        place = {"line": line, "character": 0}
        context = {"diagnostics": [], **({"only": only} if only else {})}
        found: list[dict[str, Any]] = self.request(
            "textDocument/codeAction",
            textDocument={"uri": uri},
            range={"start": place, "end": {"line": line, "character": 99}},
            context=context,
        )
        return found

    def hover(self, uri: str, line: int, character: int) -> str:
        """Ask about a place (from 0); "" when nothing is known."""
        found = self.request(
            "textDocument/hover",
            textDocument={"uri": uri},
            position={"line": line, "character": character},
        )
        return "" if found is None else str(found["contents"]["value"])


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """Apply edits as a client does: places count UTF-16 code units."""
    starts = [0]
    lines = text.split("\n")
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(place: dict[str, int]) -> int:
        line = lines[place["line"]] if place["line"] < len(lines) else ""
        units = line.encode("utf-16-le")[: 2 * place["character"]]
        return min(starts[place["line"]] + len(units.decode("utf-16-le")), len(text))

    for edit in sorted(edits, key=lambda e: offset(e["range"]["start"]), reverse=True):
        start, end = offset(edit["range"]["start"]), offset(edit["range"]["end"])
        text = text[:start] + edit["newText"] + text[end:]
    return text
