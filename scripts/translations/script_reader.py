"""Finds the sentences that TypeScript marks by `_()`, `ngettext()`, `later()` and `laterPlural()`.

Babel's own extractor overlooks marks among the values of another mark, such as `_("%(a)s", { a: _("b") })`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from babel.messages.jslexer import Token, tokenize, unquote_string

# Functions that translate, now or when a page shows it, by the number of their first arguments in English.
MARKS = {"_": 1, "ngettext": 2, "later": 1, "laterPlural": 2}


def marked_sentences(source: str) -> Iterator[tuple[int, list[str]]]:
    """Yields the line of each mark and its English: a sentence, or a singular and a plural.

    A mark of anything but strings is left out; the build refuses it.
    """
    tokens = [token for token in tokenize(source, jsx=False) if not token.type.endswith("comment")]
    for position, (name, bracket) in enumerate(pairwise(tokens)):
        if name.type == "name" and name.value in MARKS and bracket.value == "(":
            texts = _strings(tokens[position + 2 :], MARKS[name.value])
            if texts:
                yield name.lineno, texts


def _strings(tokens: list[Token], count: int) -> list[str]:
    """Returns the first `count` arguments, which commas separate; nothing if one is no string."""
    wanted = tokens[: 2 * count - 1 : 2]
    if [token.type for token in wanted] != ["string"] * count:
        return []
    return [unquote_string(token.value) for token in wanted]
