from __future__ import annotations

import csv
import io
import json
import struct
from dataclasses import replace

import pytest

from backend.server.exports.tensorboard import crc32c
from backend.server.exports.training_figures import figures_events, figures_json, rounds_csv, versions_csv
from backend.stores.contracts import EvaluationRecord, VersionRecord
from tests.support.store_contracts.records import ROUND

ZERO = VersionRecord(0, 0, "a" * 64, None, 0, 0, None, {}, 0.0, 1000.0)
ONE = replace(ZERO, version=1, round=2, accepted=3, examples=60, loss=0.5, metrics={"accuracy": 0.75})
ONE = replace(ONE, created=1010.5, let_go=1020.0)
MEASURED = {1: EvaluationRecord(1, 0.25, {"accuracy": 0.875})}
ROUNDS = [
    replace(ROUND, round=1, outcome="abandoned", reason='Nobody came, "not one".', refusals={"too-slow": 2}),
    replace(ROUND, round=2, outcome="version", reason="", accepted_by={"=1+1 webgpu": 3}, refusals={}),
]


def read(table: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.decode(), newline="")))


def test_a_table_of_versions_has_what_was_trained_on_and_what_was_measured_on_others() -> None:
    zero, one = read(versions_csv([ZERO, ONE], MEASURED))
    assert (zero["version"], zero["training loss"], zero["held-out loss"]) == ("0", "", "")
    assert (one["training loss"], one["training accuracy"]) == ("0.5", "0.75")
    assert (one["held-out loss"], one["held-out accuracy"], one["measured by"]) == ("0.25", "0.875", "server")
    assert one["created"] == "1970-01-01T00:16:50.500+00:00"
    assert (zero["let go"], one["let go"]) == ("", "1970-01-01T00:17:00.000+00:00")


def test_a_table_of_rounds_has_a_column_for_every_reason_and_every_kind_of_participant() -> None:
    first, second = read(rounds_csv(ROUNDS))
    assert first["reason"] == 'Nobody came, "not one".'
    assert (first["refused too-slow"], second["refused too-slow"]) == ("2", "")
    assert second["accepted =1+1 webgpu"] == "3"


def test_no_column_and_no_value_of_a_table_begins_like_a_formula() -> None:
    hostile = replace(ONE, metrics={"=cmd": 1.0, "@x": 2.0})
    for table in (versions_csv([hostile], {}), rounds_csv(ROUNDS)):
        for row in csv.reader(io.StringIO(table.decode(), newline="")):
            assert not [cell for cell in row if cell.startswith(("=", "+", "@", "\t"))]


def test_json_holds_versions_with_their_evaluations_and_rounds() -> None:
    told = json.loads(figures_json("tiny", [ZERO, ONE], MEASURED, ROUNDS))
    assert told["task"] == "tiny"
    assert told["versions"][1]["evaluation"] == {"loss": 0.25, "metrics": {"accuracy": 0.875}}
    assert [one["outcome"] for one in told["rounds"]] == ["abandoned", "version"]
    assert told["rounds"][0]["opened"] == ROUND.ended - ROUND.seconds
    # Everybody may read the file: clients' losses and suspects are for the owner.
    assert not {"losses", "left_out"} & told["rounds"][0].keys()


def test_the_checksum_is_that_of_the_standard() -> None:
    # RFC 3720, appendix B.4.
    assert crc32c(b"") == 0
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E


@pytest.mark.tensorflow
def test_tensorboard_reads_the_events_as_they_were_told() -> None:
    from tensorboard.compat.proto.event_pb2 import Event

    read, rest = [], figures_events([ZERO, ONE], MEASURED, ROUNDS)
    while rest:
        (length,) = struct.unpack("<Q", rest[:8])
        assert struct.unpack("<I", rest[8:12])[0] == _masked(rest[:8])
        content, rest = rest[12 : 12 + length], rest[12 + length :]
        assert struct.unpack("<I", rest[:4])[0] == _masked(content)
        rest = rest[4:]
        read.append(Event.FromString(content))
    assert read[0].file_version == "brain.Event:2"
    told = {(one.step, v.tag): v.simple_value for one in read[1:] for v in one.summary.value}
    assert told[1, "training/loss"] == 0.5
    assert told[1, "held-out/accuracy"] == 0.875
    assert told[2, "round/accepted"] == ROUND.accepted
    assert (0, "training/loss") not in told
    assert [one.wall_time for one in read] == sorted(one.wall_time for one in read)


@pytest.mark.tensorflow
def test_events_of_a_task_without_any_are_a_file_that_tensorboard_opens(tmp_path: object) -> None:
    from tensorboard.compat.proto.event_pb2 import Event

    content = figures_events([], {}, [])
    assert Event.FromString(content[12:-4]).file_version == "brain.Event:2"


def _masked(data: bytes) -> int:
    """As TensorFlow masks a checksum, by its own implementation."""
    from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import masked_crc32c

    crc: int = masked_crc32c(data)
    return crc
