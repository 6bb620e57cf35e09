"""Translates the server's sentences into the language of the page that is being rendered.

Sentences stay in English outside of `activated`: in records, in messages to clients, in answers to programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from gettext import NullTranslations

_ENGLISH = NullTranslations()
_translations: ContextVar[NullTranslations] = ContextVar("translations", default=_ENGLISH)


@contextmanager
def activated(translations: NullTranslations) -> Iterator[None]:
    """Translates with `translations` in this asyncio task, and in those that it starts meanwhile."""
    token = _translations.set(translations)
    try:
        yield
    finally:
        _translations.reset(token)


def in_english() -> AbstractContextManager[None]:
    """Keeps the page's language from tasks that outlive its request."""
    return activated(_ENGLISH)


def later(text: str) -> str:
    """Marks a table's sentence for the catalogue; it is translated where it is used."""
    return text


def gettext(text: str) -> str:
    """Returns the translation of a sentence."""
    return _translations.get().gettext(text)


def ngettext(singular: str, plural: str, count: int) -> str:
    """Returns the translation of a sentence about `count` things."""
    return _translations.get().ngettext(singular, plural, count)


def listed(words: Sequence[str]) -> str:
    """Lists words as in a sentence: `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return gettext("%(words)s and %(last)s") % {"words": ", ".join(words[:-1]), "last": words[-1]}
