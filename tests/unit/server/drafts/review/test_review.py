"""What a draft's plan and model say in sentences."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from backend.formats.manifest import parse_manifest
from backend.formats.task_file import parse_task
from backend.server.drafts.review.review import _comparison, _objectives, _plan
from backend.server.estimates.traffic import traffic
from backend.server.tasks.model_inspection import inspect
from tests.support.tasks.tiny_task import SIGNATURES, SIZE, manifest, task_toml, volunteer_toml

FILES = {"weights.bin": bytes(4 * SIZE)} | {
    name: b"" for one in SIGNATURES for name in (f"{one}/model.json", f"native/{one}.pb")
}


def told(text: str) -> str:
    return " ".join(_plan(parse_task(tomllib.loads(text), "here")))


def test_objectives_are_told_by_what_they_train_and_by_which_losses() -> None:
    tables = tomllib.loads(task_toml("tiny", {}))
    tables["model"].pop("optimizer", None)
    mse = {"output": "head", "name": "mse"}
    tables["model"]["objectives"] = [
        {"name": "heads", "trains": ["head", "tail/*"], "optimizer": {"name": "sgd"}, "losses": [mse, mse]},
        {"losses": [{"outputs": ["a", "b"], "name": "contrastive"}]},
    ]
    assert list(_objectives(parse_task(tables, "here"))) == [
        "The objective heads trains head, tail/* with sgd, by mse, mse.",
        "The objective 2 trains everything that no other objective trains, by contrastive.",
    ]


def units(**more: Any) -> str:
    return told(volunteer_toml("tiny", **more))


def test_rounds_are_told_of_by_who_averages_and_when_one_opens() -> None:
    text = told(task_toml("tiny", {"rounds": 7, "min_available_clients": 3}))
    assert text.startswith("The server averages what clients send, in 7 rounds. A round opens for 3 clients")
    assert "In a round each client" in text


def test_work_units_are_told_of_by_how_they_are_blended_and_compared() -> None:
    text = units(epochs=4, lease=90)
    assert "(vc-asgd). It goes over all shards 4 times. A client has at most 90 seconds" in text
    assert "A newcomer's unit is done by 2 clients" in text
    assert "In a unit each client" in text
    assert "round" not in text


def test_that_nobody_is_compared_is_told() -> None:
    text = units(assimilation={"name": "easgd"}, trust={"replicas": 1, "spot_checks": 0.0})
    assert "(easgd)" in text
    assert "No work is repeated" in text


def test_that_only_samples_are_compared_is_told() -> None:
    text = units(trust={"replicas": 1, "spot_checks": 0.1})
    assert "Results count as they arrive; only spot checks and odd results" in text


def test_how_far_the_model_lay_from_keras_is_told_with_its_warnings() -> None:
    raw = manifest(FILES, 0) | {"checked": {"worst": 3e-07}, "warnings": ["The layer add takes numbers."]}
    parsed = parse_manifest(json.dumps(raw).encode())
    assert list(_comparison(inspect(parsed, traffic(parsed, 1000)))) == [
        "It was checked against Keras: the worst difference was 3e-7.",
        "The layer add takes numbers.",
    ]
