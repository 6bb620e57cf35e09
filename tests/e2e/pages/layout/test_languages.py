"""Pages speak the reader's language, and every sentence of theirs can be translated."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import Environment

from backend.web.pages.languages import FALLBACK, LANGUAGES, catalogue, negotiated
from backend.web.pages.template_words import TemplateWords
from scripts.translations.command import LOCALES, all_problems
from scripts.translations.sentences import ROOT, TEMPLATES, sentences
from tests.e2e.pages.layout.message_extraction import unmarked

# A catalogue with three plural forms.
POLISH = ROOT / "tests/unit/webapp/i18n"

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


def test_translations_lack_nothing_and_fit_their_english() -> None:
    assert all_problems() == []


def test_every_language_with_a_catalogue_is_offered() -> None:
    assert {FALLBACK} | {path.stem for path in LOCALES.glob("*.po")} == set(LANGUAGES)


@pytest.mark.parametrize(
    ("count", "participants", "refused"),
    [
        (0, "0 uczestników", "Odrzucono 0 aktualizacji"),
        (1, "1 uczestnik", "Odrzucono 1 aktualizację"),
        (2, "2 uczestnicy", "Odrzucono 2 aktualizacje"),
        (5, "5 uczestników", "Odrzucono 5 aktualizacji"),
        (12, "12 uczestników", "Odrzucono 12 aktualizacji"),
        (22, "22 uczestnicy", "Odrzucono 22 aktualizacje"),
        (112, "112 uczestników", "Odrzucono 112 aktualizacji"),
    ],
)
def test_a_language_has_as_many_plural_forms_as_it_needs(count: int, participants: str, refused: str) -> None:
    polish = catalogue(POLISH, "pl")
    assert TemplateWords("pl", polish).participants(count) == participants
    environment = Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    environment.install_gettext_translations(polish, newstyle=True)  # type: ignore[attr-defined]  # By i18n.
    template = environment.from_string(
        "{% trans updates=count %}{{ updates }} update was refused"
        "{% pluralize %}{{ updates }} updates were refused{% endtrans %}"
    )
    assert template.render(count=count) == refused


def test_the_sentences_of_templates_the_server_and_scripts_are_collected() -> None:
    plurals = {sentence.text: sentence.plural for sentence in sentences()}
    assert plurals["Take part"] == ""
    assert plurals["Waiting for %(count)s more volunteer"] == "Waiting for %(count)s more volunteers"
    assert plurals["too late"] == ""
    assert plurals["%(count)s peer"] == "%(count)s peers"
