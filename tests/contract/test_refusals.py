"""The sentences of pages on the server's refusals, by their codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from backend.errors import MaskingError, MingaError, UnfitError, UpdateRefusedError
from scripts.translations.sentences import ROOT

REFUSALS = ROOT / "webapp/static/src/i18n/texts/volunteers/messages/refusals.ts"
KEY = re.compile(r'^  "?([a-z-]+)"?: ', re.MULTILINE)


def _tree(error: type[MingaError]) -> Iterator[type[MingaError]]:
    yield error
    for kind in error.__subclasses__():
        yield from _tree(kind)


def test_pages_have_a_sentence_for_each_code_that_ends_a_connection_or_refuses_a_result() -> None:
    closing = [error for error in _tree(MingaError) if "close_code" in vars(error)]
    refused = [kind for root in (UpdateRefusedError, UnfitError, MaskingError) for kind in _tree(root)]
    table = Path(REFUSALS).read_text(encoding="utf-8").split("REFUSALS", 1)[1]
    assert set(KEY.findall(table)) == {error.code for error in [*closing, *refused]} | {"store"}
