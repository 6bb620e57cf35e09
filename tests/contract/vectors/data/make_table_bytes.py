"""Writes bytes of tables and the rows that are read in them: python -m
tests.contract.vectors.data.make_table_bytes."""

from __future__ import annotations

import codecs
import csv
import io
import json
from typing import Any

from backend.errors import DataError
from backend.numerics.preprocess.rows import csv_rows
from backend.numerics.preprocess.table import trimmed
from backend.numerics.preprocess.table_text import decode_table
from tests.contract.vectors import write

WORDS = 'Größe;Ort;Note\r\n1,5;"Köln\r\nam Rhein";gut\r\n-,25;Orléans;""\r\n'
TABS = "a\tb\n1.5\t“x”\n2\t€\n"
GOOD = [
    (WORDS.encode("utf-8"), ";"),
    (WORDS.encode("utf-8-sig"), ";"),
    (WORDS.encode("cp1252"), ";"),
    (WORDS.replace("\r\n", "\r").encode("cp1252"), ";"),
    (codecs.BOM_UTF16_LE + WORDS.encode("utf-16-le"), ";"),
    (codecs.BOM_UTF16_BE + WORDS.encode("utf-16-be"), ";"),
    (TABS.encode("cp1252"), "\t"),
    (TABS.encode("utf-8"), "\t"),
    (b"a,b\n\x80,\xff\n", ","),
    (b'a,b\n"1,5",2\n', ","),
    (b"a;b\n1|2;3,4\n", ";"),
]
BAD = [
    b"a;b\n\xe4\x81;1\n",
    b"a;b\n\xe4\x00;1\n",
    codecs.BOM_UTF16_LE + b"a\x00;\x00b",
    codecs.BOM_UTF16_LE + b"a\x00\x00\xd8b\x00",
]


def files() -> dict[str, str]:
    """The content of the file; `rows` is null for bytes that are no text."""
    cases: list[dict[str, Any]] = [
        *(
            {"bytes": content.hex(), "delimiter": mark, "rows": rows_of(content, mark)}
            for content, mark in GOOD
        ),
        *({"bytes": content.hex(), "delimiter": ";", "rows": rows_of(content, ";")} for content in BAD),
    ]
    lines = ",\n".join(json.dumps(case) for case in cases)
    return {"preprocess/table_bytes.json": f"[\n{lines}\n]\n"}


def rows_of(content: bytes, delimiter: str) -> list[list[str]] | None:
    """Returns the trimmed cells of a table, names first; None if it is no text."""
    try:
        text = decode_table(content)
    except DataError:
        return None
    header = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    names = [trimmed(name) for name in header]
    rows = csv_rows(io.StringIO(text, newline=""), delimiter, names)
    return [names, *([trimmed(row[name]) for name in names] for _, row in rows)]


if __name__ == "__main__":
    write(files())
