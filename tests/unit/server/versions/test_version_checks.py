"""What minorities of the updates do is kept for the newest versions, and brings a check forward."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from backend.formats.task_file.integrity import IntegrityTable
from backend.numerics.integrity.update_trend import FEWEST_ROUNDS, ROUNDS, WIDTH, RoundMinority
from backend.server.versions.version_checks import MOST_TRENDS, VersionChecks
from backend.stores.contracts import Records, VersionRecord

ONE = VersionRecord(0, 0, "w0", None, 0, 0, None, {}, 0.0, 100.0)
PUSHING = RoundMinority(10, 3, 0.9, np.eye(WIDTH)[0])
QUIET = RoundMinority(10, 0, 0.0, np.zeros(WIDTH))
NO_RECORDS = cast("Records", None)


def opened(versions: list[VersionRecord], plan: IntegrityTable | None) -> VersionChecks:
    return VersionChecks(plan, NO_RECORDS, 1, lambda: versions, lambda: {})


def grow(checks: VersionChecks, versions: list[VersionRecord], rounds: list[RoundMinority | None]) -> None:
    for clustered in rounds:
        number = len(versions)
        versions.append(replace(ONE, version=number, weights=f"w{number}", accepted=10))
        checks.add_round(number, clustered)


def test_a_version_waits_once_a_minority_pushed_for_some_rounds() -> None:
    versions = [ONE]
    checks = opened(versions, IntegrityTable(every=100))
    grow(checks, versions, [PUSHING] * (FEWEST_ROUNDS - 1))
    assert checks.waiting(ended=False) == {}
    assert checks.updates_part(1).score is None
    assert "takes 3 rounds with 5 updates or more" in checks.updates_part(1).reason
    grow(checks, versions, [PUSHING] * 3)
    assert checks.waiting(ended=False) == {FEWEST_ROUNDS: "updates"}
    assert checks.is_pushed(FEWEST_ROUNDS + 5, since=1)
    assert not checks.is_pushed(FEWEST_ROUNDS + 5, since=FEWEST_ROUNDS + 3)
    assert "9 of 30 updates were in a minority" in checks.updates_part(FEWEST_ROUNDS).reason


def test_rounds_that_a_roll_back_left_behind_do_not_count() -> None:
    versions = [ONE]
    checks = opened(versions, IntegrityTable(every=100))
    grow(checks, versions, [PUSHING] * ROUNDS)
    versions.append(replace(ONE, version=ROUNDS + 1))
    grow(checks, versions, [PUSHING] * (FEWEST_ROUNDS - 1))
    assert not checks.is_pushed(versions[-1].version, since=ROUNDS + 1)
    grow(checks, versions, [QUIET] * ROUNDS)
    assert not checks.is_pushed(versions[-1].version, since=ROUNDS + 1)


def test_rounds_without_sketches_and_tasks_without_checks_keep_nothing() -> None:
    for plan, clustered in ((IntegrityTable(), None), (None, PUSHING)):
        versions = [ONE]
        checks = opened(versions, plan)
        grow(checks, versions, [clustered] * ROUNDS)
        assert checks.updates_part(ROUNDS).score is None


def test_so_many_versions_are_kept() -> None:
    versions = [ONE]
    checks = opened(versions, IntegrityTable(every=1000))
    grow(checks, versions, [QUIET] * (MOST_TRENDS + FEWEST_ROUNDS))
    assert checks.updates_part(FEWEST_ROUNDS).score is None
    assert checks.updates_part(MOST_TRENDS + FEWEST_ROUNDS).score is not None
