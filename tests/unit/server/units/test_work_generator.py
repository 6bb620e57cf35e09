"""What the steps of units, of their parts and of what these leave count as."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from backend.protocols.units.scheduler_effects import GrantLease
from backend.server.tasks.task import Task
from backend.server.units.work_generator import (
    examples_after,
    past_steps,
    planned_work,
    steps_of,
    visits_a_row,
    visits_of,
)


def task_of(epochs: int, batch_size: int, steps: int | None = None, schedule: str | None = None) -> Task:
    manifest = SimpleNamespace(optimizer=SimpleNamespace(schedule=schedule))
    task = SimpleNamespace(
        epochs=epochs,
        batch_size=batch_size,
        file=SimpleNamespace(
            training=SimpleNamespace(steps=steps),
            coordination=SimpleNamespace(units=SimpleNamespace(rows_of_unit=lambda rows, _: rows)),
        ),
        shards=SimpleNamespace(train=[SimpleNamespace(examples=50)]),
        bundle=SimpleNamespace(manifest=manifest),
    )
    return cast(Task, task)


def grant_of(examples: int, first_step: int = 0, steps: int = 0, epoch: int = 1) -> GrantLease:
    return GrantLease("ann", 1, 1, 0, 0, examples, 0, 7, epoch, steps, 60.0, 10.0, False, first_step)


def test_of_one_visit_the_rows_of_a_part_are_those_in_its_batches() -> None:
    task = task_of(epochs=1, batch_size=32)
    assert [examples_after(task, grant_of(100), steps) for steps in (1, 2, 3, 4)] == [32, 64, 96, 100]
    rest = grant_of(100, first_step=3)
    assert (planned_work(task, rest).steps, planned_work(task, rest).examples) == (1, 4)
    assert examples_after(task, rest, 1) == 4


def test_of_several_visits_a_part_has_its_share_of_the_rows_and_all_its_visits() -> None:
    task = task_of(epochs=2, batch_size=32)
    whole, rest = grant_of(100), grant_of(100, first_step=5)
    assert (examples_after(task, whole, 5), visits_of(task, whole, 5)) == (66, 132)
    assert (examples_after(task, rest, 3), visits_of(task, rest, 3)) == (34, 68)
    assert (planned_work(task, rest).steps, planned_work(task, rest).examples) == (3, 68)


@given(st.integers(1, 70), st.integers(1, 12), st.integers(1, 4), st.integers(0, 40), st.data())
def test_the_parts_of_a_unit_add_up_to_its_rows_and_visits(
    examples: int, batch_size: int, epochs: int, fixed_steps: int, data: st.DataObject
) -> None:
    task = task_of(epochs, batch_size, steps=fixed_steps or None)
    total, first, rows, visits = steps_of(task, examples), 0, 0, 0
    while first < total:
        grant = grant_of(examples, first)
        steps = data.draw(st.integers(1, planned_work(task, grant).steps))
        rows += examples_after(task, grant, steps)
        visits += visits_of(task, grant, steps)
        first += steps
    assert rows == examples
    assert visits == planned_work(task, grant_of(examples)).examples


def test_the_learning_rate_of_a_rest_goes_on_where_the_part_stopped() -> None:
    task = task_of(epochs=1, batch_size=10, schedule="cosine_decay")
    # Each epoch has 5 steps.
    assert past_steps(task, grant_of(50, epoch=3)) == 10
    assert past_steps(task, grant_of(50, first_step=2, epoch=3)) == 12
    assert past_steps(task_of(1, 10), grant_of(50, first_step=2, epoch=3)) == 0


def test_a_credited_row_is_visited_in_each_local_epoch_or_as_often_as_the_steps_allow() -> None:
    assert visits_a_row(task_of(epochs=3, batch_size=32)) == 3.0
    # 50 rows, 10 batches of 10.
    assert visits_a_row(task_of(epochs=1, batch_size=10, steps=10)) == 2.0
    assert visits_a_row(task_of(epochs=1, batch_size=10, steps=2)) == 0.4
