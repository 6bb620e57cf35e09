"""Reads a file of translations with the line of each entry."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from gettext import c2py
from pathlib import Path

FIELD = re.compile(r'(?:(msgctxt|msgid|msgid_plural|msgstr)(?:\[(\d+)\])?\s+)?(".*")$')
PLURAL_FORMS = re.compile(r"Plural-Forms: *nplurals=(\d+); *plural=(.+?);?$", re.MULTILINE)


class PoError(Exception):
    """A file of translations that cannot be read, with the line."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


@dataclass(frozen=True)
class Translation:
    """An entry: its English, its translation by plural form, and the line on which it begins."""

    text: str
    plural: str
    forms: tuple[str, ...]
    line: int
    is_fuzzy: bool


@dataclass(frozen=True)
class PoFile:
    """The entries of a file, and how many plural forms its language has."""

    plural_forms: int
    translations: list[Translation]


def read_po_file(path: Path) -> PoFile:
    """Reads the file. Raises PoError for a line that is no entry, and for a header without `Plural-Forms`."""
    entries = list(_entries(path.read_text(encoding="utf-8")))
    header = next((entry.forms[0] for entry in entries if not entry.text), "")
    return PoFile(_plural_forms(header), [entry for entry in entries if entry.text])


def _plural_forms(header: str) -> int:
    """Returns the number of forms, if the header's expression reaches each of them and none beyond."""
    stated = PLURAL_FORMS.search(header)
    if stated is None:
        raise PoError(1, "the header has no Plural-Forms")
    count = int(stated[1])
    try:
        form = c2py(stated[2])
        reached = {form(number) for number in range(1001)}
    except ValueError as error:
        raise PoError(1, f"the plural expression is malformed: {error}") from error
    if reached != set(range(count)):
        raise PoError(1, f"the plural expression gives the forms {sorted(reached)} instead of {count}")
    return count


def _entries(text: str) -> Iterator[Translation]:
    block, first, is_fuzzy = defaultdict[str, str](str), 0, False
    last = ""
    for line, content in enumerate([*text.split("\n"), ""], 1):
        if content.startswith("#"):
            is_fuzzy = is_fuzzy or (content.startswith("#,") and "fuzzy" in content)
        elif content.strip():
            last, value = _field(line, content, last)
            first = first or line
            block[last] += value
        elif block:
            yield _translation(block, first, is_fuzzy)
            block, first, is_fuzzy, last = defaultdict(str), 0, False, ""


def _field(line: int, content: str, last: str) -> tuple[str, str]:
    """Returns the field that a line belongs to, such as `msgstr[1]`, and what it adds to it."""
    found = FIELD.match(content.strip())
    if found is None or not (found[1] or last):
        raise PoError(line, f"this is no part of an entry: {content}")
    name = f"{found[1]}[{int(found[2] or 0)}]" if found[1] else last
    try:
        return name, str(ast.literal_eval(found[3]))
    except (SyntaxError, ValueError) as error:
        raise PoError(line, "the quotes of this text are wrong") from error


def _translation(block: dict[str, str], line: int, is_fuzzy: bool) -> Translation:
    if "msgid[0]" not in block or "msgstr[0]" not in block:
        raise PoError(line, "this entry lacks its msgid or msgstr")
    if "msgctxt[0]" in block:
        raise PoError(line, "contexts are not supported: give the sentence another English text")
    names = [name for name in block if name.startswith("msgstr")]
    if names != [f"msgstr[{form}]" for form in range(len(names))]:
        raise PoError(line, f"the plural forms are not numbered from 0: {', '.join(names)}")
    forms = tuple(block[name] for name in names)
    return Translation(block["msgid[0]"], block.get("msgid_plural[0]", ""), forms, line, is_fuzzy)
