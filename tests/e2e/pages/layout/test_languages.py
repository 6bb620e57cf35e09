"""Pages speak the reader's language, and every sentence of theirs can be translated."""

from __future__ import annotations

from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from backend.web.pages.languages import catalogue, negotiated
from backend.web.pages.template_words import TemplateWords
from tests.e2e.pages.layout.message_extraction import LOCALES, TEMPLATES, catalogue_of_sources, unmarked

GERMAN = """
msgid ""
msgstr "Content-Type: text/plain; charset=utf-8\\nPlural-Forms: nplurals=2; plural=(n != 1);\\n"

msgid "%(count)s participant"
msgid_plural "%(count)s participants"
msgstr[0] "%(count)s Mensch"
msgstr[1] "%(count)s Menschen"
"""


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("", "en"),
        ("es", "es"),
        ("es-MX,es;q=0.9,en;q=0.8", "es"),
        ("en-GB,en;q=0.9,es;q=0.8", "en"),
        ("ca, es;q=0.7, en;q=0.3", "es"),
        ("en;q=0.2,ES-ar;q=0.5", "es"),
        ("es;q=0", "en"),
        ("es;q=much", "en"),
        ("*", "en"),
        ("qu,fr;q=0.5", "en"),
        (",;,=", "en"),
    ],
)
def test_the_language_that_the_reader_likes_best_is_spoken(accepted: str, language: str) -> None:
    assert negotiated(accepted, ["en", "es"]) == language


def test_a_catalogue_knows_plurals_and_leaves_what_it_lacks_in_english(tmp_path: Path) -> None:
    (tmp_path / "de.po").write_text(GERMAN, encoding="utf-8")
    words = TemplateWords("de", catalogue(tmp_path, "de"))
    assert [words.participants(count) for count in (1, 2)] == ["1 Mensch", "2 Menschen"]
    assert words.brings(None) == "No data needed: examples are provided."
    assert words.decimal(0.1378) == "0,1378"
    assert words.percent(0.931) == "93,1\u202f%"


@pytest.mark.parametrize(
    "template", sorted(TEMPLATES.rglob("*.html")), ids=lambda path: path.relative_to(TEMPLATES).as_posix()
)
def test_no_sentence_of_a_template_bypasses_the_catalogue(template: Path) -> None:
    assert unmarked(template) == []


def test_a_sentence_that_bypasses_the_catalogue_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<p title="A hint">{% trans %}Looked up{% endtrans %} bare {{ n }}</p>'
        '{{ "Take part" if n else _("Known") }}<input placeholder="Find"><b>Minga</b>'
    )
    assert unmarked(page) == ["A hint", "bare", "Find", "Take part"]


def test_spanish_lacks_no_sentence_and_has_none_too_many() -> None:
    with (LOCALES / "es.po").open("rb") as file:
        spanish = read_po(file, locale="es")
    needed = {message.id for message in catalogue_of_sources() if message.id}
    given = {message.id for message in spanish if message.id}
    assert needed - given == set()
    assert given - needed == set()
    for message in spanish:
        said = message.string
        assert said if isinstance(said, str) else said and all(said), message.id
        assert not message.fuzzy or not message.id, message.id
        # Placeholders, plurals and the like are as in English.
        assert list(message.check(spanish)) == [], message.id


def test_the_sentences_of_templates_and_of_the_server_are_collected() -> None:
    found = catalogue_of_sources()
    assert found["Take part"] is not None
    assert found["Waiting for %(count)s more volunteer"].pluralizable
    assert found["too late"] is not None
