"""The simulation of strangers counts what it says."""

from __future__ import annotations

from benchmarks.units.strangers import measure


def test_liars_are_caught_about_as_often_as_expected_and_nobody_else_is() -> None:
    report = measure(clients=60, units=400, epochs=4, peers=3, checks=0.2)
    assert (report.cheats, report.honest_distrusted) == (3, 0)
    assert report.caught == report.liars == 3
    # What else a liar sent is dismissed with its first refuted lie.
    assert report.caught <= report.found <= report.lies
    assert report.lies_blended <= 0.1 * report.lies
    assert report.split > 0
    assert report.leases_per_unit > 1
