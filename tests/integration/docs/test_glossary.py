"""Each term of docs/reference/glossary.md is used where users read it, and is defined in one sentence."""

from __future__ import annotations

import re

import pytest

from tests.integration.docs.test_docs import ROOT

GLOSSARY = ROOT / "docs/reference/glossary.md"
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", GLOSSARY.read_text("utf-8"), re.MULTILINE)
TERMS = {term: sentence for term, sentence in ROWS if term not in ("term", "---")}
# Decisions and what contributors read may have words that users never meet.
FOLDERS = ("tutorial", "how-to", "reference", "explanation")
PAGES = [
    *(path for folder in FOLDERS for path in (ROOT / "docs" / folder).glob("*.md") if path != GLOSSARY),
    *(ROOT / "webapp/templates").rglob("*.html"),
]
TEXT = " ".join(" ".join(path.read_text("utf-8") for path in PAGES).split()).lower()


def test_the_terms_are_in_no_two_rows() -> None:
    assert len(TERMS) == len(ROWS) - GLOSSARY.read_text("utf-8").count("| term |") >= 50


@pytest.mark.parametrize("term", TERMS)
def test_a_term_is_used_in_the_docs_or_on_a_page(term: str) -> None:
    assert re.search(rf"\b{re.escape(term)}(s|es|ed)?\b", TEXT)


@pytest.mark.parametrize(("term", "sentence"), TERMS.items())
def test_a_term_is_defined_in_one_sentence(term: str, sentence: str) -> None:
    assert sentence[0].isupper()
    assert re.findall(r"[.!?](?=\s|$)", sentence) == ["."]
    assert sentence.endswith(".")
