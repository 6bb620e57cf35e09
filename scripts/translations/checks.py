"""Compares translations with the sentences that are looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.translations.po_file import PoError, Translation, read_po_file
from scripts.translations.sentences import Sentence

PLACEHOLDER = re.compile(r"%\((\w+)\)s")


@dataclass(frozen=True)
class TranslationProblem:
    """What is wrong on a line of a file."""

    path: Path
    line: int
    text: str


def problems(path: Path, needed: Iterable[Sentence]) -> list[TranslationProblem]:
    """Returns what is wrong with the translations in `path`, and which of the `needed` are not there."""
    try:
        file = read_po_file(path)
    except PoError as error:
        return [TranslationProblem(path, error.line, str(error))]
    english = {sentence.text: sentence for sentence in needed}
    found = [
        TranslationProblem(path, entry.line, f"{text}: {entry.text}")
        for entry in file.translations
        for text in entry_problems(entry, file.plural_forms)
    ]
    given: dict[str, Translation] = {}
    for entry in file.translations:
        if entry.text in given:
            found.append(
                TranslationProblem(path, entry.line, f"line {given[entry.text].line} has it: {entry.text}")
            )
        elif entry.text not in english:
            found.append(TranslationProblem(path, entry.line, f"nothing uses it: {entry.text}"))
        given.setdefault(entry.text, entry)
    return found + list(_missing(path.name, english.values(), given))


def _missing(
    name: str, needed: Iterable[Sentence], given: dict[str, Translation]
) -> Iterator[TranslationProblem]:
    for sentence in needed:
        if sentence.text not in given:
            text = f"{name} has no translation of: {sentence.text}"
            yield TranslationProblem(sentence.path, sentence.line, text)
        elif sentence.plural != given[sentence.text].plural:
            text = f"{name} has another plural of: {sentence.text}"
            yield TranslationProblem(sentence.path, sentence.line, text)


def entry_problems(entry: Translation, plural_forms: int) -> Iterator[str]:
    """Yields what is wrong with one entry of a language with so many plural forms."""
    expected = plural_forms if entry.plural else 1
    if entry.is_fuzzy:
        yield "it is marked as fuzzy"
    if len(entry.forms) != expected:
        yield f"it has {len(entry.forms)} of {expected} forms"
    if not all(entry.forms):
        yield "it is not translated"
        return
    allowed = _placeholders(entry.text) | _placeholders(entry.plural)
    # A plural's count may be a word in one of its forms, as in English: "one of them", "%(count)s of them".
    required = _placeholders(entry.text) & _placeholders(entry.plural or entry.text)
    for form in entry.forms:
        if not required <= _placeholders(form) <= allowed:
            names = ", ".join(f"%({name})s" for name in sorted(_placeholders(form) ^ required))
            yield f"its placeholders differ by {names}"
        if _other_percents(form) > max(_other_percents(entry.text), _other_percents(entry.plural)):
            yield "it has a malformed placeholder"


def _placeholders(text: str) -> set[str]:
    return set(PLACEHOLDER.findall(text))


def _other_percents(text: str) -> int:
    return PLACEHOLDER.sub("", text).replace("%%", "").count("%")
