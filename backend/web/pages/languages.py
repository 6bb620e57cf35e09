"""In which language a page speaks: what the reader's browser asks for, of what there is a catalogue for.

Sentences stand in English where they are used, in templates between `trans` and `endtrans`, and are looked up
in `webapp/locales/<language>.po`. What scripts say has its own catalogue, `webapp/static/src/i18n`.
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
# Pages for volunteers. Others, which are for owners and operators, are in English.
TRANSLATED = frozenset(
    {
        "gallery/gallery.html",
        "account/join.html",
        "train/mesh.html",
        "task/model.html",
        "task/rounds.html",
        "task/task.html",
        "train/train.html",
        "train/units.html",
    }
)


def language_of(template: str, accepted: str) -> str:
    """In which language the page of `template` is said to who sends `accepted` as Accept-Language."""
    return negotiated(accepted) if template in TRANSLATED else FALLBACK


def negotiated(accepted: str, offered: Sequence[str] = LANGUAGES) -> str:
    """The offered language that `accepted`, an Accept-Language header (RFC 9110, 12.5.4), likes best.

    Regions count as their language; who asks for none of those offered gets English.
    """
    wishes = sorted(map(_wish, accepted.split(",")), key=lambda wish: -wish[1])
    liked = (language for language, weight in wishes if weight > 0 and language in offered)
    return next(liked, FALLBACK)


def _wish(text: str) -> tuple[str, float]:
    """A language without its region, and how much it is liked: 0 to 1."""
    tag, _, weight = text.partition(";")
    try:
        liked = float(weight.strip().removeprefix("q=") or 1)
    except ValueError:
        liked = 0.0
    return tag.strip().lower().partition("-")[0], liked


@lru_cache(maxsize=8)
def catalogue(locales: Path, language: str) -> NullTranslations:
    """The sentences of `language` by the English ones; English itself needs none."""
    if language == FALLBACK:
        return NullTranslations()
    with (locales / f"{language}.po").open("rb") as file:
        sentences = read_po(file, locale=language)
    compiled = BytesIO()
    write_mo(compiled, sentences)
    compiled.seek(0)
    return GNUTranslations(compiled)
