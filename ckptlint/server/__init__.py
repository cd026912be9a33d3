"""The language server: findings, fixes and facts in an editor, over standard input and output."""

from __future__ import annotations


class MissingLibraryError(Exception):
    """The server needs libraries that are not installed; the text says how to get them."""


def run() -> None:
    """Serve one client until it leaves. Raises MissingLibraryError."""
    try:
        from ckptlint.server.app import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise MissingLibraryError(
            "the server needs pygls, which is not installed: pip install 'ckptlint[lsp]'"
        ) from error
    serve()
