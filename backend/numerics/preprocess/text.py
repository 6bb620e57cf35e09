"""Turns texts into token ids, windows and padded rows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.errors import DataError
from backend.numerics.preprocess.fitted import FittedText, Punctuation, Tokenizer
from backend.numerics.preprocess.labels import class_value
from backend.numerics.preprocess.pairs import encode_pieces

Array = NDArray[Any]

_SEPARATORS = "\x00-\x20\x7f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_PUNCTUATION = re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_STRIP = re.compile(f"[{_PUNCTUATION}]")
_WORDS = re.compile(f"[^{_SEPARATORS}]+")
_WORDS_AND_MARKS = re.compile(f"[{_PUNCTUATION}]|[^{_SEPARATORS}{_PUNCTUATION}]+")
_PIECES = re.compile(f"[{_SEPARATORS}]*[^{_SEPARATORS}]+|[{_SEPARATORS}]+")


def decode_text(content: bytes) -> str:
    """Decodes UTF-8 and drops a byte order mark. Raises DataError."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"byte {error.start} is not UTF-8; save the text as UTF-8.") from error


def normalized(fitted: FittedText, text: str) -> str:
    """Normalizes `text` as the fitted preprocessing says."""
    return normalize(text, fitted.normalize == "nfc", fitted.lower)


def normalize(text: str, nfc: bool, lower: bool) -> str:
    """Makes all line ends "\n", then applies Unicode's normal form C and lower case if set."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if nfc:
        text = unicodedata.normalize("NFC", text)
    return text.translate(lower_case()) if lower else text


@lru_cache(maxsize=1)
def lower_case() -> dict[int, int]:
    """Returns the lower case of code points, if it is the same in all Unicode versions in use."""
    table = {}
    for code in (*range(0x590), *range(0x1E00, 0x2000)):
        low = chr(code).lower()
        if len(low) == 1 and ord(low) != code:
            table[code] = ord(low)
    return table


def words(text: str, punctuation: Punctuation) -> list[str]:
    """Splits at separators; punctuation marks become separate tokens, or are removed."""
    if punctuation == "strip":
        return _WORDS.findall(_STRIP.sub("", text))
    return _WORDS_AND_MARKS.findall(text)


def pieces(text: str) -> list[bytes]:
    """Splits a text for byte-pair encoding: each word with the separators before it."""
    return [piece.encode("utf-8") for piece in _PIECES.findall(text)]


def tokens(tokenizer: Tokenizer, punctuation: Punctuation, text: str) -> Sequence[str]:
    """Returns the characters or words of a normalized text."""
    return text if tokenizer == "characters" else words(text, punctuation)


def token_ids(fitted: FittedText, text: str) -> NDArray[np.int32]:
    """Returns the ids of a text. Raises DataError for an unknown token, if that is an error."""
    text = normalized(fitted, text)
    if fitted.tokenizer == "bytes":
        return np.frombuffer(text.encode("utf-8"), np.uint8).astype(np.int32) + fitted.first
    if fitted.tokenizer == "pairs":
        symbols = encode_pieces(pieces(text), tuple(fitted.merges))
        return np.array(symbols, np.int32) + np.int32(fitted.first)
    ids = _ids(tuple(fitted.tokens), fitted.first)
    text_tokens = tokens(fitted.tokenizer, fitted.punctuation, text)
    return np.fromiter(_UNKNOWN[fitted.unknown](ids, text_tokens, fitted.first - 1), np.int32)


def windows(ids: NDArray[np.int32], length: int, stride: int) -> NDArray[np.int32]:
    """Returns [n, length + 1]: each window and the id after it."""
    count = max(0, (len(ids) - length - 1) // stride + 1)
    if count == 0:
        return np.zeros((0, length + 1), np.int32)
    return np.lib.stride_tricks.sliding_window_view(ids, length + 1)[::stride]


def filled(ids: NDArray[np.int32], length: int) -> NDArray[np.int32]:
    """Returns [length]: the first ids, padded with zeros. Raises DataError if there are no ids."""
    if not len(ids):
        raise DataError("the text has no token; leave it out.")
    return np.pad(ids[:length], (0, max(0, length - len(ids))))


def window_arrays(fitted: FittedText, text: str) -> tuple[list[Array], list[Array]]:
    """Returns the stored windows of one text, and their next tokens. Raises DataError."""
    both = windows(token_ids(fitted, text), fitted.length, fitted.stride).astype(fitted.inputs[0].dtype)
    return [both[:, :-1]], [both[:, 1:]]


def class_arrays(fitted: FittedText, texts: Iterable[tuple[str, str]]) -> tuple[list[Array], list[Array]]:
    """Returns the stored ids of texts, and the labels of their classes. Raises DataError."""
    label = fitted.label
    if label is None:
        raise ValueError("This preprocessing makes windows, no classes.")
    pairs = [
        (filled(token_ids(fitted, text), fitted.length), class_value(label, name)) for text, name in texts
    ]
    return (
        [np.array([ids for ids, _ in pairs], fitted.inputs[0].dtype).reshape(len(pairs), fitted.length)],
        [
            np.array([value for _, value in pairs], label.stored.dtype).reshape(
                len(pairs), *label.stored.shape
            )
        ],
    )


@lru_cache(maxsize=4)
def _ids(vocabulary: tuple[str, ...], first: int) -> dict[str, int]:
    return {token: first + number for number, token in enumerate(vocabulary)}


def _or_error(ids: dict[str, int], text_tokens: Sequence[str], _own: int) -> list[int]:
    try:
        return [ids[token] for token in text_tokens]
    except KeyError as error:
        raise DataError(
            f"the token {error.args[0]!r} is unknown; set `unknown` to own or drop to allow that."
        ) from None


def _or_own(ids: dict[str, int], text_tokens: Sequence[str], own: int) -> list[int]:
    return [ids.get(token, own) for token in text_tokens]


def _or_nothing(ids: dict[str, int], text_tokens: Sequence[str], _own: int) -> list[int]:
    return [ids[token] for token in text_tokens if token in ids]


_UNKNOWN: dict[str, Callable[[dict[str, int], Sequence[str], int], list[int]]] = {
    "error": _or_error,
    "own": _or_own,
    "drop": _or_nothing,
}
