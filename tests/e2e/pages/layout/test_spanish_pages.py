"""Owners' pages come in Spanish, with no sentence of the catalogue left in English."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from backend.server.drafts.review.wizard_steps import STEPS
from scripts.translations.command import LOCALES
from tests.support.tasks.tiny_task import write_task
from tests.support.web.draft_client import Drafter
from tests.support.web.server_process import running
from tests.support.web.visitors import Visitor, operator, program

SPANISH = "es-PE,es;q=0.9,en;q=0.5"
SPOKEN = re.compile(r'>([^<>]+)<|(?:alt|aria-label|content|placeholder|title)="([^"]+)"')
# What a page marks as English, and names in code.
MARKED = re.compile(r'<(\w+)[^>]*\slang="en"[^>]*>.*?</\1>|<(code)\b.*?</\2>', re.DOTALL)
# A sentence of more words may be a part of a text, one of fewer words may be a word of Spanish.
WORDS_OF_A_SENTENCE = 3


@dataclass
class Place:
    """A server, its owner, and the address of a draft."""

    owner: Visitor
    draft: str

    def page(self, path: str, status: int = 200) -> str:
        """Returns a page as a Spanish browser gets it."""
        page: str = self.owner.ask("GET", path, None, status, Accept="text/html", Accept_Language=SPANISH)
        return page


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder: Path = tmp_path_factory.mktemp("spanish")
    write_task(folder / "tasks" / "tiny")
    with running(folder / "tasks", folder / "data") as server:
        owner = operator(server)
        draft = Drafter(program(owner, "create", "edit")).begin("dogs").removeprefix("/api")
        yield Place(owner, draft)


@pytest.fixture(scope="module")
def english() -> list[str]:
    """The sentences without figures that are other ones in Spanish."""
    with (LOCALES / "es.po").open("rb") as file:
        spanish = read_po(file, locale="es")
    return [
        message.id
        for message in spanish
        if isinstance(message.id, str) and message.id not in (message.string, "") and "%(" not in message.id
    ]


def left_in_english(page: str, english: list[str]) -> list[str]:
    """Returns the sentences of the catalogue that a page has in English."""
    page = MARKED.sub("", page)
    said = {html.unescape(text or value).strip() for text, value in SPOKEN.findall(page)}
    whole = html.unescape(page)
    return [
        text
        for text in english
        if text in said or (len(text.split()) > WORDS_OF_A_SENTENCE and text in whole)
    ]


PAGES = (
    "/sign-in",
    "/account",
    "/drafts",
    *(f"DRAFT/{step}" for step in STEPS),
    "/tasks/tiny",
    "/tasks/tiny/manage",
    "/tasks/tiny/access",
    "/tasks/tiny/versions/0",
    "/api/docs",
)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_for_owners_is_in_spanish(place: Place, english: list[str], path: str) -> None:
    page = place.page(path.replace("DRAFT", place.draft))
    assert '<html lang="es">' in page
    assert left_in_english(page, english) == []


def test_an_error_page_is_in_spanish_and_its_message_says_that_it_is_english(
    place: Place, english: list[str]
) -> None:
    page = place.page("/nowhere", 404)
    assert "En esta dirección no hay nada." in page
    assert left_in_english(page, english) == []
    assert '<p class="lead" lang="en">' in place.page("/tasks/other", 404)


def test_the_sentences_of_a_draft_are_in_spanish_for_its_page_and_in_english_for_programs(
    place: Place,
) -> None:
    address = f"/api{place.draft}"
    page = place.owner.ask("GET", address, Accept_Language=SPANISH)
    assert page["standing"] == "Siguiente: Traer el modelo."
    costs = place.owner.ask("POST", f"{address}/estimate", {}, Accept_Language=SPANISH)
    assert costs["waits"].startswith("Convierte primero el modelo")
    assert place.owner.ask("GET", address)["standing"] == "Next: Bring the model."


def test_a_sentence_that_is_left_in_english_is_found() -> None:
    page = '<p title="Sign in">Nombre</p><p>1. You have no drafts yet.</p><b> Noise </b><i lang="en">Key</i>'
    english = ["Sign in", "Name", "You have no drafts", "Noise", "Key"]
    assert left_in_english(page, english) == ["Sign in", "You have no drafts", "Noise"]
