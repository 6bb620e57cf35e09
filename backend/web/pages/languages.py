"""Chooses a page's language from the browser's header and the existing catalogues.

English sentences are in the code and, between `trans` and `endtrans`, in the templates; translations are in
`webapp/locales/<language>.po`, from which the web app's build takes those of scripts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

FALLBACK = "en"
LANGUAGES = (FALLBACK, "es")


def negotiated(accepted: str, offered: Sequence[str] = LANGUAGES) -> str:
    """Returns the offered language that an Accept-Language header prefers (RFC 9110, 12.5.4).

    Regions count as their language. If the header accepts none of those offered, the result is English.
    """
    weighted = sorted(map(_weighted_language, accepted.split(",")), key=lambda wish: -wish[1])
    accepted_languages = (language for language, weight in weighted if weight > 0 and language in offered)
    return next(accepted_languages, FALLBACK)


def _weighted_language(text: str) -> tuple[str, float]:
    """Parses a language without its region, and its weight from 0 to 1."""
    tag, _, weight = text.partition(";")
    try:
        quality = float(weight.strip().removeprefix("q=") or 1)
    except ValueError:
        quality = 0.0
    return tag.strip().lower().partition("-")[0], quality


@lru_cache(maxsize=8)
def catalogue(locales: Path, language: str) -> NullTranslations:
    """Returns the translations of `language` by the English sentences; English needs none."""
    if language == FALLBACK:
        return NullTranslations()
    with (locales / f"{language}.po").open("rb") as file:
        sentences = read_po(file, locale=language)
    compiled = BytesIO()
    write_mo(compiled, sentences)
    compiled.seek(0)
    return GNUTranslations(compiled)
