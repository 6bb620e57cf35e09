"""The kinds of clients, to which trust belongs and among which results may be compared."""

from __future__ import annotations

# The prefix of the kind of clients that compute with one program: it gives the same bits on every machine.
_EXACT = "exact "


def kind_of(kind: str, backend: str, program: str | None) -> str:
    """Returns the kind of a client; browsers and peers with one `program` are of the same."""
    return f"{kind} {backend}" if program is None else f"{_EXACT}{program[:16]}"


def is_exact(kind: str) -> bool:
    """Whether right results of clients of this kind have the same bits."""
    return kind.startswith(_EXACT)
