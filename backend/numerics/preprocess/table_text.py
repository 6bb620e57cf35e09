"""Detects how the bytes of a CSV table encode its text (docs/reference/preprocessing.md#tables)."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable

from backend.errors import DataError

UTF8, WINDOWS = "utf-8-sig", "cp1252"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Bytes that Windows-1252 leaves undefined, and zeros, which no text has.
_UNDEFINED = re.compile(rb"[\x00\x81\x8d\x8f\x90\x9d]")


def table_encoding(parts: Iterable[bytes]) -> str:
    """Returns Python's name for the encoding of a table, whose bytes come in `parts`. Raises DataError.

    UTF-16 has a byte order mark. Otherwise it is UTF-8 if all bytes are valid, else Windows-1252.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    valid, undefined, offset = True, None, 0
    for part in parts:
        if offset == 0 and part.startswith(_UTF16):
            return "utf-16"
        if valid:
            valid = _decodes(decoder, part)
        if undefined is None and (match := _UNDEFINED.search(part)):
            undefined = offset + match.start()
        offset += len(part)
    if valid and _decodes(decoder, b"", final=True):
        return UTF8
    if undefined is not None:
        raise DataError(
            f"the table is neither UTF-8, UTF-16 nor Windows-1252 (byte {undefined}); save it as UTF-8."
        )
    return WINDOWS


def decode_table(content: bytes) -> str:
    """Returns the text of a table, without a byte order mark. Raises DataError."""
    try:
        return content.decode(table_encoding([content]))
    except UnicodeDecodeError as error:
        raise DataError(f"byte {error.start} is not UTF-16; save the table as UTF-8.") from error


def _decodes(decoder: codecs.IncrementalDecoder, part: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(part, final)
    except UnicodeDecodeError:
        return False
    return True
