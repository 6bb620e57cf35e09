"""What trainings cost: seconds of work from their records, dollars and kWh by a table of prices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from backend.errors import SettingsError
from backend.formats.manifest import Manifest
from backend.server.estimates.prices import DEFAULT_PRICES, read_prices
from backend.server.estimates.recorded_cost import cost_of
from backend.server.estimates.training_record import (
    TrainingRecord,
    of_rounds,
    of_units,
    read_record,
    read_results,
    write_record,
)
from tests.support.tasks import tiny_task

UNITS = {"name": "tiny", "scheme": "volunteer"}
ROUNDS = {"name": "tiny", "scheme": "federated"}


def manifest() -> Manifest:
    return msgspec.convert(tiny_task.manifest({}, 0), Manifest)


def result(client: str, at: float, seconds: float, examples: int = 10, **more: Any) -> dict[str, Any]:
    row = {"client": client, "at": at, "seconds": seconds, "examples": examples, "kind": "peer"}
    return {**row, "backend": "tensorflow", "shard": int(at), "first": 0, **more}


def person(client: str, accepted: int, examples: int, **more: Any) -> dict[str, Any]:
    row = {"client": client, "kind": "peer", "backend": "tensorflow", "accepted": accepted}
    return {**row, "refused": 0, "examples": examples, **more}


def epoch(seconds: float, outcome: str = "version") -> dict[str, Any]:
    return {"seconds": seconds, "outcome": outcome}


def units(people: list[dict[str, Any]], results: list[dict[str, Any]]) -> TrainingRecord:
    return of_units(UNITS, manifest(), [epoch(100.0)], people, results)


def test_seconds_in_which_a_client_trained_two_units_count_once() -> None:
    record = units([person("a", 2, 20)], [result("a", 30.0, 20.0), result("a", 40.0, 20.0)])
    (work,) = record.work
    assert (work.busy, work.there) == (30.0, 30.0)


def test_waiting_between_units_is_paid_by_who_rents_and_not_as_work() -> None:
    record = units([person("a", 2, 20)], [result("a", 10.0, 10.0), result("a", 60.0, 10.0)])
    assert (record.busy, record.there) == (20.0, 60.0)


def test_work_that_only_confirmed_others_counts_in_proportion() -> None:
    record = units([person("a", 2, 20)], [result("a", 10.0, 8.0)])
    assert record.busy == 16.0


def test_who_has_nothing_in_the_model_took_as_long_as_others_of_its_kind() -> None:
    people = [person("a", 1, 10), person("b", 1, 10), person("c", 1, 10, backend="wasm", kind="browser")]
    slow = result("d", 50.0, 30.0, kind="browser", backend="wasm")
    record = units(
        [*people, person("d", 1, 10, kind="browser", backend="wasm")], [result("a", 9.0, 4.0), slow]
    )
    assert {one.client: one.busy for one in record.work} == {"a": 4.0, "b": 4.0, "c": 30.0, "d": 30.0}


def test_nobody_worked_longer_than_the_training_lasted() -> None:
    record = units([person("a", 50, 500)], [result("a", 90.0, 80.0)])
    assert record.busy == record.seconds == 100.0


def test_a_round_is_the_most_that_its_clients_worked() -> None:
    people = [person("a", 3, 30), person("b", 0, 0, refused=1)]
    rounds = [epoch(10.0), epoch(20.0, "abandoned"), epoch(30.0)]
    record = of_rounds(ROUNDS, manifest(), rounds, people)
    assert (record.passes, record.seconds) == (2, 60.0)
    assert [(one.busy, one.there) for one in record.work] == [(60.0, 60.0), (20.0, 60.0)]


def test_bytes_are_models_down_updates_up_and_each_row_once_for_each_client() -> None:
    rows = [result("a", 10.0, 5.0, shard=1), result("a", 20.0, 5.0, shard=1), result("a", 30.0, 5.0, shard=2)]
    record = units([person("a", 3, 30)], rows)
    vector = 4 * tiny_task.SIZE
    assert record.up == 3 * vector
    # No file in this bundle; a row is two values of x and one of y.
    assert record.down == 3 * vector + 20 * 12
    assert record.flops == 30 / manifest().batch_size * 116


def test_bytes_that_the_server_counted_are_charged_instead_of_a_model_for_each_result() -> None:
    """Two units from the same weights fetch these once, and an equal result is not sent."""
    rows = [result("a", 10.0, 5.0), result("a", 20.0, 5.0)]
    counted = {"sent": 700, "received": 40}
    record = of_units(UNITS, manifest(), [epoch(100.0)], [person("a", 2, 20)], rows, counted)
    assert (record.down, record.up) == (700, 40)


def test_rows_of_the_server_s_table_are_read() -> None:
    text = (
        "number,epoch,at,unit,shard,first,examples,client,kind,backend,base,staleness,seconds,lost\r\n"
        "1,1,2026-11-22T16:00:00.500+00:00,4,3,0,188,00ff00ff00ff00ff,browser,wasm,0,0,12.5,0.0\r\n"
    )
    (row,) = read_results(text)
    assert row["at"] == pytest.approx(1795363200.5)
    assert (row["seconds"], row["shard"], row["examples"]) == (12.5, 3, 188)
    assert (row["client"], row["kind"], row["backend"]) == ("00ff00ff00ff00ff", "browser", "wasm")


def test_an_hour_costs_what_the_table_says() -> None:
    prices = read_prices()
    record = of_rounds(ROUNDS, manifest(), [epoch(3600.0)], [person("a", 1, 10), person("b", 1, 10)])
    cost = cost_of(record, prices)
    for fleet, price in zip(cost.fleets, prices.instances, strict=True):
        assert fleet.server == price.standard
        assert fleet.standard_busy == fleet.standard_rented == 2 * price.standard
        assert fleet.preemptible_rented == 2 * price.preemptible
        assert fleet.saved == pytest.approx(2 * (price.standard - price.preemptible) / (3 * price.standard))
    assert cost.energy.kwh == pytest.approx((2 * 0.005, 2 * 0.065))
    assert cost.energy.dollars[1] == pytest.approx(0.13 * prices.energy.kwh)
    assert cost.traffic == pytest.approx((record.down + record.up) / 1e9 * prices.traffic.out)


def test_every_price_of_ours_has_a_date_and_a_source_and_preemptible_ones_are_lower() -> None:
    prices = read_prices(DEFAULT_PRICES)
    for one in (*prices.instances, prices.traffic, prices.energy):
        assert one.source.startswith("https://")
        assert one.date <= "2026-11-30"
    assert all(0 < one.preemptible < one.standard for one in prices.instances)


def test_prices_that_nobody_looked_up_say_so() -> None:
    first, *_, last = read_prices(DEFAULT_PRICES).instances
    assert first.day == "2026-11-22"
    assert last.day == "2018-07-06, not looked up"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("standard = 0.34 ", "standard = -1 "), "instances"),
        (('date = "2026-11-22"', 'date = "today"'), "date"),
        (('date = "2026-11-22"', 'date = "2026-13-22"'), "month must be in 1..12.*on which you looked it up"),
        (('date = "2026-11-22"\n', ""), "missing required field `date`.*on which you looked it up"),
        (("looked_up = false", 'looked_up = "no"'), "looked_up"),
        (("[energy]", "[power]"), "power"),
        (("[energy]", "[energy"), "no table of prices"),
    ],
)
def test_a_table_with_something_wrong_is_refused_in_a_sentence(
    tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    text = DEFAULT_PRICES.read_text("utf-8")
    assert change[0] in text
    (tmp_path / "prices.toml").write_text(text.replace(*change), "utf-8")
    with pytest.raises(SettingsError, match=words):
        read_prices(tmp_path / "prices.toml")


@pytest.mark.parametrize(
    ("value", "words"),
    [('"busy": 20.0', '"busy": -20.0'), ('"seconds": 100.0', '"seconds": "long"'), ('"down": ', '"down": -')],
)
def test_a_record_with_less_than_nothing_is_refused(tmp_path: Path, value: str, words: str) -> None:
    record = units([person("a", 2, 20)], [result("a", 10.0, 10.0), result("a", 60.0, 10.0)])
    path = tmp_path / "record.json"
    write_record(path, record)
    assert read_record(path) == record
    assert value in path.read_text()
    path.write_text(path.read_text().replace(value, words))
    with pytest.raises(SettingsError, match=f"is no record of a training.*{value.split(chr(34))[1]}"):
        read_record(path)
