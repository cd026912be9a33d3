"""What an editor shows about the name under the cursor: who must call it, and what follows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ckptlint.fault import spelled
from ckptlint.lookup import Fact, details, full_name
from ckptlint.server.sight import Sight

_SHOWN = 4  # so many records of one name are told, and so many collectives of one function


def markdown(sight: Sight) -> str:
    """Tell what is known of a name."""
    if sight.facts:
        return "\n\n---\n\n".join("\n".join(_fact(fact)) for fact in sight.facts[:_SHOWN])
    return "\n".join(_function(sight))


def _fact(fact: Fact) -> Iterator[str]:
    known = {label: text for label, text in details(fact) if text}
    yield f"**{_code(full_name(fact))}**"
    yield ""
    who, alone = known.pop("must call", ""), known.pop("if only some", "")
    if alone:
        other = known.pop("otherwise", "")
        rest = f"; otherwise {other}" if other else ""
        yield f"**{_capital(who)} must call this.** If only some do, {_escaped(alone + rest)}."
        yield ""
    elif who:
        yield f"For {who} to call."
        yield ""
    for label, text in known.items():
        yield f"- {label}: {_escaped(text)}"


def _function(sight: Sight) -> Iterator[str]:
    yield "**Every rank must call this.** It reaches"
    yield ""
    for operation in sight.reached[:_SHOWN]:
        path, line, _ = operation.site.key
        yield f"- {_code(spelled(operation.site))} ({_escaped(path)}:{line})"
    more = len(sight.reached) - _SHOWN
    if more > 0:
        yield f"- and {more} more"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _code(text: str) -> str:
    return f"`{text}`"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", text)
