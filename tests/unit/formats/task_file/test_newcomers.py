"""[access] newcomers: what newcomers have to do first goes with the scheme, or is refused with the reason."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import TaskFile, parse_task
from tests.support.tasks.tiny_task import task_toml, volunteer_toml

PROBATION = {"newcomers": "probation"}


def rounds(access: dict[str, Any], **security: Any) -> TaskFile:
    task = tomllib.loads(task_toml("tiny", {"min_available_clients": 10, "quorum": 10}))
    task["security"] |= security
    return parse_task(task | {"access": access}, "here")


def units(access: dict[str, Any], **trust: Any) -> TaskFile:
    task = tomllib.loads(volunteer_toml("tiny", trust=trust))
    return parse_task(task | {"access": access}, "here")


def test_newcomers_are_asked_for_nothing_by_default() -> None:
    assert rounds({}).access.probation_rounds == 0


def test_a_probation_has_three_rounds_and_a_quarter_of_the_seats_by_default() -> None:
    access = rounds(PROBATION).access
    assert (access.probation_rounds, access.probation.share) == (3, 0.25)
    assert rounds({**PROBATION, "probation": {"rounds": 5}}).access.probation_rounds == 5


@pytest.mark.parametrize("table", [{"rounds": 0}, {"rounds": 101}, {"share": 0.0}, {"share": 0.6}])
def test_its_numbers_have_bounds(table: dict[str, Any]) -> None:
    with pytest.raises(TaskFileError, match=next(iter(table))):
        rounds({**PROBATION, "probation": table})


def test_a_table_without_effect_is_refused() -> None:
    with pytest.raises(TaskFileError, match=r"\[access.probation\] has no effect without"):
        rounds({"probation": {"rounds": 5}})


@pytest.mark.parametrize("aggregation", [["masked"], ["masked", "open"]])
def test_masked_sums_leave_no_newcomer_out(aggregation: list[str]) -> None:
    with pytest.raises(TaskFileError, match="sees a sum only, from which it can leave out no newcomer"):
        rounds(PROBATION, aggregation=aggregation)


def test_no_server_leaves_a_newcomer_out_of_a_mesh() -> None:
    task = tomllib.loads(task_toml("tiny", {"scheme": "decentralized"}))
    del task["security"]
    with pytest.raises(TaskFileError, match="peers average among themselves"):
        parse_task(task | {"access": PROBATION}, "here")


def test_results_of_newcomers_are_compared_in_work_units() -> None:
    assert units(PROBATION).access.newcomers == "probation"
    with pytest.raises(TaskFileError, match="replicas = 1 they count on arrival"):
        units(PROBATION, replicas=1)
    with pytest.raises(TaskFileError, match="has no rounds"):
        units({**PROBATION, "probation": {"rounds": 4}})


def test_work_is_bounded_and_goes_with_every_scheme() -> None:
    work = {"newcomers": "work"}
    assert rounds(work).access.work.bits == 21
    assert rounds({**work, "work": {"bits": 23}}, aggregation=["masked"]).access.work.bits == 23
    assert units(work, replicas=1).access.newcomers == "work"
    for bits in (9, 24):
        with pytest.raises(TaskFileError, match="bits"):
            rounds({**work, "work": {"bits": bits}})
    with pytest.raises(TaskFileError, match=r"\[access.work\] has no effect without"):
        rounds({"work": {"bits": 12}})
