"""What the same bits everywhere cost in seconds, and what they buy."""

from __future__ import annotations

import tomllib
from typing import Any

from backend.formats.task_file import TaskFile, parse_task
from backend.server.estimates.devices import BackendName
from backend.server.estimates.exact_cost import ExactCost, exact_costs, exact_notes, usable_times
from backend.server.tasks.model_inspection import StepTime
from tests.support.tasks.tiny_task import task_toml, volunteer_toml


def laptop(backend: BackendName, range_ms: tuple[float, float] | None) -> StepTime:
    return StepTime("laptop", backend, range_ms, "estimated")


TIMES = [laptop("wasm", (20.0, 80.0)), laptop("webgpu", (5.0, 20.0)), laptop("webgl", (8.0, 30.0))]


def task(text: str, exact: str | None) -> TaskFile:
    content: dict[str, Any] = tomllib.loads(text)
    content["training"] = content.get("training", {}) | ({} if exact is None else {"exact": exact})
    return parse_task(content, "here")


def test_the_fastest_graphics_processor_is_what_is_given_up() -> None:
    assert exact_costs(TIMES) == [ExactCost("laptop", (20.0, 80.0), (5.0, 20.0))]


def test_one_that_is_no_faster_or_cannot_train_costs_nothing() -> None:
    slower = [laptop("wasm", (2.0, 8.0)), laptop("webgl", (5.0, 9.0)), laptop("webgpu", None)]
    assert exact_costs(slower) == [ExactCost("laptop", (2.0, 8.0), None)]


def test_a_device_that_cannot_compute_the_same_bits_is_left_out() -> None:
    assert exact_costs([laptop("wasm", None), laptop("webgl", (5.0, 9.0))]) == []


def test_a_task_that_requires_them_is_trained_on_processors_alone() -> None:
    assert usable_times(task(volunteer_toml("tiny"), "required"), TIMES) == TIMES[:1]
    assert usable_times(task(volunteer_toml("tiny"), None), TIMES) == TIMES


def test_seconds_and_leases_of_a_unit_are_said() -> None:
    trusting = volunteer_toml("tiny", trust={"trusted": ["0" * 16]})
    notes = list(exact_notes(task(trusting, "required"), TIMES, 100, 1.864))
    assert notes == [
        "Results are compared by their hash, without a tolerance: each useful result takes about 1.86 "
        "leases.",
        "They count before they are proven. If a trusted peer refutes one, all unproven results of its "
        "client are taken out of the model.",
        "All compute on their processors: a unit takes a laptop 2–8 s this way, and its graphics processor "
        "would take 0.5–2 s.",
    ]


def test_without_a_trusted_peer_it_is_said_what_one_would_give() -> None:
    _, alone, _ = exact_notes(task(volunteer_toml("tiny"), "required"), TIMES, 100, 1.864)
    assert alone.startswith("Equal results of two strangers prove nothing")
    buffered = volunteer_toml("tiny", trust={"trusted": ["0" * 16]}, assimilation={"name": "fedbuff"})
    assert len(list(exact_notes(task(buffered, "required"), TIMES, 100, 1.864))) == 2


def test_what_a_requirement_would_cost_is_said_where_exactness_is_preferred() -> None:
    first, second = exact_notes(task(volunteer_toml("tiny"), None), TIMES[:1], 10, 2.0)
    assert first.startswith("Results of exact devices are compared by their hash")
    assert second.startswith('With training.exact = "required" all would compute')
    assert second.endswith("its graphics processor would be no faster.")


def test_a_task_without_exactness_says_nothing_of_it() -> None:
    assert list(exact_notes(task(task_toml("tiny", {}), None), TIMES, 100)) == []
