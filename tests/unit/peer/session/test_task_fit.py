from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from backend.peer.session.join import JoinOptions
from backend.peer.session.server_address import BackendFit, Choice, ModelNeeds, StepNeeds
from backend.peer.session.task_fit import model_obstacle, task_obstacle
from backend.peer.training.graphs import Device

OPTIONS = JoinOptions(
    device="auto", min_masked=None, min_noise=None, roster=None, ways=["relay"], listening=None
)
ROUNDS = Choice(name="vision", scheme="federated")
UNITS = Choice(name="text", scheme="volunteer")


def model(
    cpu: str = "everywhere", cuda: str = "everywhere", peak: int = 1000, program: str | None = None
) -> ModelNeeds:
    backends = [BackendFit("tensorflow-cpu", cpu), BackendFit("tensorflow-cuda", cuda)]
    return ModelNeeds(StepNeeds(peak), backends, program)


def test_rounds_and_work_units_on_the_servers_data_are_joined() -> None:
    assert task_obstacle(ROUNDS, OPTIONS) is None
    assert task_obstacle(UNITS, OPTIONS) is None


def test_nobodys_own_data_are_used_unasked() -> None:
    obstacle = task_obstacle(msgspec.structs.replace(ROUNDS, brings="image"), OPTIONS)
    assert obstacle is not None
    assert "own data" in obstacle


def test_a_mesh_is_joined_by_name_only() -> None:
    assert task_obstacle(Choice(name="mesh", scheme="decentralized"), OPTIONS)


def test_what_a_volunteer_asks_of_a_task_is_kept() -> None:
    masked = msgspec.structs.replace(ROUNDS, aggregation=("masked", "open"))
    options = replace(OPTIONS, min_masked=3)
    assert task_obstacle(masked, options) is None
    assert task_obstacle(ROUNDS, options)
    assert task_obstacle(UNITS, options)
    assert task_obstacle(UNITS, replace(OPTIONS, roster=frozenset()))
    assert task_obstacle(UNITS, replace(OPTIONS, min_noise=1.0))


@pytest.mark.parametrize(
    ("device", "gpu", "cpu", "cuda", "fits"),
    [
        ("auto", False, "some devices", "nowhere", True),
        ("auto", False, "nowhere", "everywhere", False),
        ("auto", True, "nowhere", "everywhere", True),
        ("cpu", True, "nowhere", "everywhere", False),
        ("cuda", True, "everywhere", "nowhere", False),
    ],
)
def test_the_model_has_to_run_on_a_device_of_this_machine(
    device: Device, gpu: bool, cpu: str, cuda: str, fits: bool
) -> None:
    options = replace(OPTIONS, device=device)
    assert (model_obstacle(model(cpu, cuda), options, 1000, gpu) is None) == fits


def test_a_step_has_to_fit_into_the_memory() -> None:
    assert model_obstacle(model(peak=1000), OPTIONS, 1000, gpu=False) is None
    assert "GB" in (model_obstacle(model(peak=1001), OPTIONS, 1000, gpu=False) or "")


def test_an_exact_peer_needs_an_exact_program() -> None:
    exact = replace(OPTIONS, exact=True)
    assert model_obstacle(model(program="f" * 64), exact, 1000, gpu=False) is None
    assert model_obstacle(model(program=None), exact, 1000, gpu=False)
