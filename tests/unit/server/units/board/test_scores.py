"""What the results of each epoch came to."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace

from backend.server.exports.training_figures import assimilations_csv
from backend.server.units.board.scores import result_json, scores
from backend.stores.contracts import AssimilationRecord

ROW = AssimilationRecord(
    number=1,
    epoch=1,
    unit=7,
    shard=2,
    first=50,
    examples=50,
    client="0123456789abcdef",
    kind="browser",
    backend="webgl",
    base=3,
    staleness=1,
    seconds=2.5,
    lost=0.0,
    at=1_700_000_000.0,
    loss=0.5,
    metrics={"accuracy": 0.75},
)


def test_epochs_have_mean_and_spread_of_what_was_measured_after_their_results() -> None:
    rows = [
        ROW,
        replace(ROW, number=2, staleness=3, loss=1.5, metrics={"accuracy": 0.25}, client="f" * 16),
        replace(ROW, number=3, loss=None, metrics={}),
        replace(ROW, number=4, epoch=2, loss=None, metrics={}),
    ]
    first, second = scores(rows)
    assert (first["epoch"], first["results"], first["measured"], first["clients"]) == (1, 3, 2, 2)
    assert first["loss"] == {"mean": 1.0, "deviation": 0.5, "least": 0.5, "most": 1.5}
    assert first["metrics"] == {"accuracy": {"mean": 0.5, "deviation": 0.25, "least": 0.25, "most": 0.75}}
    assert (first["examples"], first["staleness"]) == (150, 5 / 3)
    assert (second["epoch"], second["measured"], second["loss"], second["metrics"]) == (2, 0, None, {})


def test_what_is_no_number_is_left_out_as_json_has_none() -> None:
    broken = replace(ROW, loss=math.nan, metrics={"accuracy": math.inf})
    assert scores([broken])[0]["loss"] is None
    assert scores([broken])[0]["metrics"] == {"accuracy": None}
    told = result_json(broken)
    assert (told["loss"], told["metrics"], told["unit"]) == (None, {"accuracy": None}, 7)


def test_a_table_of_results_has_a_line_for_each() -> None:
    lines = list(csv.DictReader(io.StringIO(assimilations_csv([ROW, replace(ROW, number=2)]).decode())))
    assert [line["number"] for line in lines] == ["1", "2"]
    assert (lines[0]["shard"], lines[0]["first"], lines[0]["examples"]) == ("2", "50", "50")
    assert (lines[0]["held-out loss"], lines[0]["held-out accuracy"]) == ("0.5", "0.75")
    assert lines[0]["at"].startswith("2023-11-14T22:13:20")
