"""What is learnt from data, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import pytest

from backend.errors import DataError
from backend.numerics.preprocess.declared import DeclaredTable, DeclaredText, Preprocess
from backend.numerics.preprocess.fitted import FittedTable, NumberColumn
from backend.numerics.preprocess.fitting import fit_table, fit_text, resolve
from backend.numerics.preprocess.pairs import encode_pieces, find_merges

ROWS = [{"a": cell, "b": name} for cell, name in (("1", "x"), ("", "y"), ("4", "x"), ("7", ""))]


def declared(**table: Any) -> Any:
    made: Preprocess = msgspec.convert(table, Preprocess)
    return made


def fitted(**column: Any) -> FittedTable:
    table = declared(kind="table", columns=[column])
    assert isinstance(table, DeclaredTable)

    def rows() -> Iterable[Mapping[str, str]]:
        return ROWS

    return fit_table(table, rows, rows)


@pytest.mark.parametrize(
    ("column", "fill", "subtract", "divide"),
    [
        ({"missing": "mean"}, 4.0, 0.0, 1.0),
        ({"missing": "median"}, 4.0, 0.0, 1.0),
        ({"missing": -1, "scaling": "minmax"}, -1.0, 1.0, 6.0),
        ({"missing": 0, "scaling": "standard"}, 0.0, 4.0, 6.0**0.5),
    ],
)
def test_fills_and_scales_are_learnt_from_the_values_there(
    column: dict[str, Any], fill: float, subtract: float, divide: float
) -> None:
    (made,) = fitted(name="a", kind="number", **column).columns
    assert isinstance(made, NumberColumn)
    assert (made.fill, made.subtract) == (fill, subtract)
    assert made.divide == pytest.approx(divide, rel=1e-15)


def test_an_index_without_a_position_is_refused() -> None:
    with pytest.raises(DataError, match="needs a position"):
        fitted(name="b", kind="category", encoding="index", missing="none")


def test_categories_are_those_found_without_the_missing_ones() -> None:
    (made,) = fitted(name="b", kind="category", missing="own").columns
    assert msgspec.to_builtins(made)["categories"] == ["x", "y"]


def test_a_vocabulary_keeps_the_most_frequent_tokens() -> None:
    text = declared(kind="text", tokenizer="words", length=4, vocabulary=3, unknown="own")
    assert isinstance(text, DeclaredText)
    made = fit_text(text, ["b a c a b a"], [], ())
    assert (made.tokens, made.ids) == (["a", "b"], 3)
    strict = msgspec.structs.replace(text, unknown="error")
    with pytest.raises(DataError, match="3 different tokens, over the vocabulary of 2"):
        fit_text(msgspec.structs.replace(strict, vocabulary=2), [], ["b a c"], ())


def test_byte_pairs_merge_the_most_frequent_pair_first() -> None:
    merges = find_merges({b" low": 5, b" lower": 2, b" newest": 6, b" widest": 3}, 4)
    assert merges[:2] == [(101, 115), (256, 116)]
    assert encode_pieces([b" newest"], tuple(merges))[-1] >= 257
    assert len(find_merges({b"ab": 1, b"cd": 1}, 9)) == 0


@pytest.mark.parametrize(
    ("table", "known"),
    [
        ({"kind": "image", "size": [2, 2]}, False),
        ({"kind": "image", "size": [2, 2], "classes": ["a", "b"]}, True),
        ({"kind": "table", "columns": [{"name": "a", "kind": "number", "missing": 3}]}, True),
        ({"kind": "table", "columns": [{"name": "a", "kind": "number", "scaling": "standard"}]}, False),
        ({"kind": "table", "columns": [{"name": "a", "kind": "category"}]}, False),
        ({"kind": "text", "tokenizer": "bytes", "length": 3}, True),
        ({"kind": "text", "tokenizer": "characters", "length": 3}, False),
        ({"kind": "text", "tokenizer": "characters", "length": 3, "tokens": ["a"]}, True),
        ({"kind": "array"}, False),
    ],
)
def test_what_is_declared_in_full_needs_no_data(table: dict[str, Any], known: bool) -> None:
    assert (resolve(declared(**table)) is not None) == known


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"kind": "text", "tokenizer": "pairs", "length": 3}, "needs vocabulary"),
        ({"kind": "text", "tokenizer": "bytes", "length": 3, "vocabulary": 9}, "bytes are 256"),
        ({"kind": "text", "tokenizer": "words", "length": 3, "labels": "column"}, "needs text_column"),
        ({"kind": "text", "tokenizer": "words", "length": 3, "stride": 1, "labels": "folders"}, "stride"),
        ({"kind": "image", "size": [2, 2], "std": [1, 2], "mean": [1]}, "one length"),
        ({"kind": "image", "size": [2, 2], "std": 0}, "divides nothing"),
        ({"kind": "image", "size": [2, 2], "resize": "magic"}, "magic"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(table: dict[str, Any], words: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=words):
        declared(**table)
