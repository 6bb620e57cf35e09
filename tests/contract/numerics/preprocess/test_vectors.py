"""Preprocessing gives the golden values, to the bit."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from backend.errors import DataError
from backend.numerics.preprocess.fitted import (
    Fitted,
    FittedAudio,
    FittedTable,
    FittedText,
    Image,
    encode_fitted,
    parse_fitted,
)
from backend.numerics.preprocess.image import image_values
from backend.numerics.preprocess.loading import load_values
from backend.numerics.preprocess.ordering import most_frequent, ordered
from backend.numerics.preprocess.rows import csv_rows
from backend.numerics.preprocess.spectrogram import audio_values
from backend.numerics.preprocess.table import needed_columns, table_arrays, trimmed
from backend.numerics.preprocess.table_text import decode_table
from backend.numerics.preprocess.text import class_arrays, lower_case, window_arrays
from backend.numerics.preprocess.wav import open_wav

VECTORS = Path(__file__).parents[3] / "contract" / "vectors" / "preprocess"


def cases(name: str) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = json.loads((VECTORS / f"{name}.json").read_text("utf-8"))
    return content


def fitted(case: dict[str, Any]) -> Any:
    one: Fitted = msgspec.convert(case["fitted"], Fitted)
    return one


def as_json(arrays: list[NDArray[Any]]) -> list[dict[str, Any]]:
    return [{"shape": list(a.shape), "dtype": a.dtype.name, "values": a.reshape(-1).tolist()} for a in arrays]


@pytest.mark.parametrize("case", cases("image"))
def test_images_become_the_golden_pixels(case: dict[str, Any]) -> None:
    pixels, one = case["pixels"], fitted(case)
    assert isinstance(one, Image)
    rgba = np.array(pixels["rgba"], np.uint8).reshape(pixels["height"], pixels["width"], 4)
    values = image_values(one, rgba, case["orientation"])
    assert list(values.shape) == one.inputs[0].shape
    assert values.reshape(-1).tolist() == case["values"]


@pytest.mark.parametrize("case", [case for case in cases("audio") if "values" in case])
def test_recordings_become_the_golden_spectrograms(case: dict[str, Any]) -> None:
    one = fitted(case)
    assert isinstance(one, FittedAudio)
    values = audio_values(one, open_wav(base64.b64decode(case["wav"])))
    assert (list(values.shape), values.dtype.name) == (one.inputs[0].shape, one.inputs[0].dtype)
    # The golden values have five digits after the point.
    np.testing.assert_allclose(values.reshape(-1), case["values"], rtol=0, atol=1.6e-5)


@pytest.mark.parametrize("case", [case for case in cases("audio") if "error" in case])
def test_a_bad_recording_is_refused_with_the_golden_reason(case: dict[str, Any]) -> None:
    with pytest.raises(DataError) as told:
        read_all(base64.b64decode(case["wav"]))
    assert case["error"] in str(told.value)


def read_all(content: bytes) -> None:
    recording = open_wav(content)
    recording.read(0, recording.frames)


def read_table(case: dict[str, Any]) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    one = fitted(case)
    assert isinstance(one, FittedTable)
    lines = io.StringIO(case["csv"], newline="")
    return table_arrays(one, csv_rows(lines, one.delimiter, needed_columns(one)))


@pytest.mark.parametrize("case", [case for case in cases("table") if "x" in case])
def test_tables_become_the_golden_values(case: dict[str, Any]) -> None:
    x, y = read_table(case)
    assert (as_json(x), as_json(y)) == (case["x"], case["y"])


@pytest.mark.parametrize("case", [case for case in cases("table") if "error" in case])
def test_a_bad_table_is_refused_with_row_and_column(case: dict[str, Any]) -> None:
    with pytest.raises(DataError) as told:
        read_table(case)
    row, column = case["error"]["row"], case["error"]["column"]
    assert row is None or f"row {row}" in str(told.value)
    assert column is None or f"'{column}'" in str(told.value)


@pytest.mark.parametrize("case", cases("table_bytes"))
def test_bytes_of_tables_are_read_as_the_golden_rows(case: dict[str, Any]) -> None:
    content, golden = bytes.fromhex(case["bytes"]), case["rows"]
    if golden is None:
        with pytest.raises(DataError):
            decode_table(content)
        return
    names, *rows = golden
    found = csv_rows(io.StringIO(decode_table(content), newline=""), case["delimiter"], names)
    assert [[trimmed(row[name]) for name in names] for _, row in found] == rows


def read_text(case: dict[str, Any]) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    one = fitted(case)
    assert isinstance(one, FittedText)
    if one.label is None:
        return window_arrays(one, case["text"])
    return class_arrays(one, [(case["text"], case["name"])])


@pytest.mark.parametrize("case", [case for case in cases("text") if "x" in case])
def test_texts_become_the_golden_ids(case: dict[str, Any]) -> None:
    x, y = read_text(case)
    assert (as_json(x), as_json(y)) == (case["x"], case["y"])


@pytest.mark.parametrize("case", [case for case in cases("text") if "error" in case])
def test_an_unknown_token_or_an_empty_text_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(DataError):
        read_text(case)


@pytest.mark.parametrize("case", cases("loading"))
def test_stored_values_are_loaded_to_the_golden_values(case: dict[str, Any]) -> None:
    stored = np.array(case["stored"]["values"], case["stored"]["dtype"]).reshape(case["stored"]["shape"])
    loaded = load_values(stored, case["preprocess"]["scale"], case["preprocess"]["offset"])
    assert loaded.dtype == np.float32
    assert loaded.reshape(-1).tolist() == case["values"]


def test_names_and_tokens_come_in_the_golden_order() -> None:
    *names, counts = cases("order")
    assert [ordered(case["names"]) for case in names] == [case["ordered"] for case in names]
    assert most_frequent(counts["counts"], 4) == counts["most_frequent"]


def test_lower_case_is_the_golden_table() -> None:
    (table,) = cases("lower")
    assert sorted(lower_case().items()) == [tuple(pair) for pair in table["pairs"]]


@pytest.mark.parametrize("case", [cases(kind)[0] for kind in ("image", "table", "text", "audio")])
def test_a_fitted_preprocessing_survives_its_json(case: dict[str, Any]) -> None:
    one = fitted(case)
    assert parse_fitted(encode_fitted(one)) == one
    assert json.loads(encode_fitted(one)) == case["fitted"]
    with pytest.raises(DataError, match="minga shard"):
        parse_fitted(b'{"kind": "sound"}')
