"""What a task promises its clients follows from its file."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from backend.formats.task_file import TaskFile, parse_task
from backend.server.tasks.client_terms import aggregation_terms, own_noise, privacy_terms
from backend.wire.messages import AggregationTerms
from tests.support.tasks.tiny_task import task_toml

OWN = {
    "source": "volunteer",
    "preprocess": {"kind": "array"},
    "volunteer": {"minimum": 100, "holdout": 0.2},
}


def task(mechanism: str | None, *, masked: bool = False, **training: Any) -> TaskFile:
    said = tomllib.loads(
        task_toml("tiny", {"min_available_clients": 5, "quorum": 5, "fraction_evaluate": 0.0})
    )
    said["data"], said["training"] = OWN, training
    if masked:
        said["security"] = {"aggregation": ["masked"], "masking": {"min_clients": 5}, "max_update_norm": 3.0}
    if mechanism is not None:
        said["privacy"] = {"mechanism": mechanism, "clip": 1.0, "noise_multiplier": 2.0}
    return parse_task(said, "here")


@pytest.mark.parametrize(
    ("training", "visits"),
    # Of 80 examples and a batch of 4, 20 steps visit each once.
    [({}, 1), ({"epochs": 3}, 3), ({"steps": 20, "batch_size": 4}, 1), ({"steps": 21, "batch_size": 4}, 2)],
)
def test_noise_on_gradients_promises_how_often_an_example_is_visited(
    training: dict[str, Any], visits: int
) -> None:
    terms = privacy_terms(task("examples", **training))
    assert terms is not None
    assert (terms.microbatch, terms.visits) == (1, visits)


@pytest.mark.parametrize("mechanism", ["central", "local"])
def test_noise_on_updates_promises_nothing_of_visits(mechanism: str) -> None:
    terms = privacy_terms(task(mechanism, epochs=3))
    assert terms is not None
    assert (terms.microbatch, terms.visits) == (0, 0)


def test_masked_updates_have_the_clip_of_their_noise_or_of_the_longest_update() -> None:
    assert aggregation_terms(task(None, masked=True)) == AggregationTerms(3.0, 5, "honest")
    assert aggregation_terms(task("distributed", masked=True)) == AggregationTerms(1.0, 5, "honest")


def test_a_clients_own_noise_is_all_of_it_or_its_share() -> None:
    assert own_noise(task(None)) == own_noise(task("central")) == 0.0
    assert own_noise(task("local")) == own_noise(task("examples")) == 2.0
    assert own_noise(task("distributed", masked=True)) == pytest.approx(2.0 / 43**0.5)
