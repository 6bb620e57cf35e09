"""Defines the root of the tree of errors: each has a wire code, an HTTP status and a text with a remedy."""

from __future__ import annotations

from typing import ClassVar


class MingaError(Exception):
    """Root of every error that Minga raises on purpose; `str(error)` is a sentence for people."""

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500
    close_code: ClassVar[int] = 4000
