"""What is in the way of a backend, with the reason; and step times that grow with the work."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from backend.formats.manifest import Manifest, parse_manifest
from backend.server.estimates.devices import DEVICES, PLACES
from backend.server.estimates.traffic import traffic
from backend.server.tasks.model_inspection import Inspection, fastest, inspect
from tests.support.tasks.tiny_task import SIGNATURES, SIZE, manifest

FILES = {"weights.bin": bytes(4 * SIZE)}
FILES |= {f"{name}/model.json": b"{}" for name in SIGNATURES}
FILES |= {f"native/{name}.pb": b"" for name in SIGNATURES}


def parsed(**changes: Any) -> Manifest:
    """The tiny bundle's manifest; `changes` are merged into its `step`, `memory` into the memory there."""
    fields = copy.deepcopy(manifest(FILES, 0))
    fields["step"]["memory"] |= changes.pop("memory", {})
    fields["step"] |= changes
    return parse_manifest(json.dumps(fields).encode())


def inspected(**changes: Any) -> Inspection:
    found = parsed(**changes)
    return inspect(found, traffic(found, 1000))


def verdicts(inspection: Inspection) -> dict[str, str]:
    return {one.backend: one.eligible for one in inspection.backends}


def test_a_small_model_trains_everywhere() -> None:
    inspection = inspected()
    assert set(verdicts(inspection).values()) == {"everywhere"}
    assert inspection.reasons() == {}
    assert all(one.range_ms is not None for one in inspection.step_times)


def test_shaders_know_six_dimensions() -> None:
    deep = {"name": "windows", "shape": [4, 2, 2, 2, 2, 2, 2]}
    found = verdicts(inspected(deepest_tensor=deep))
    assert {backend for backend, verdict in found.items() if verdict == "nowhere"} == {"webgpu", "webgl"}
    (reason,) = inspected(deepest_tensor=deep).reasons()
    assert reason == (
        "It knows tensors of up to 6 dimensions, and windows [4, 2, 2, 2, 2, 2, 2] has 7: "
        "merge dimensions in that layer with a Reshape."
    )
    assert set(verdicts(inspected(deepest_tensor={"name": "x", "shape": [1] * 6})).values()) == {"everywhere"}


@pytest.mark.parametrize(
    ("values", "webgl", "webgpu"),
    [
        (4096**2, "everywhere", "everywhere"),
        (4096**2 + 1, "some devices", "everywhere"),
        (2**25, "some devices", "everywhere"),
        (2**25 + 1, "some devices", "some devices"),
        (16384**2, "some devices", "some devices"),
        (16384**2 + 1, "nowhere", "some devices"),
        (2**29, "nowhere", "nowhere"),
    ],
)
def test_a_tensor_must_fit_a_texture_or_a_binding(values: int, webgl: str, webgpu: str) -> None:
    found = verdicts(inspected(largest_tensor={"name": "relu", "shape": [values]}))
    assert (found["webgl"], found["webgpu"]) == (webgl, webgpu)
    assert found["wasm"] == found["tensorflow-cpu"] == "everywhere"


def test_the_reason_says_what_makes_that_tensor_smaller() -> None:
    def remedy(name: str, shape: list[int], **fields: Any) -> str:
        raw = manifest(FILES, 0)
        raw = copy.deepcopy(raw) | {"parameters": {"trainable": 80_000_000, "state": 0}}
        raw["layout"] = [{"name": "kernel", "shape": [80_000_000], "offset": 0, "trainable": True}]
        raw["optimizer"]["slots"] = 2
        raw["files"]["weights.bin"]["bytes"] = 320_000_000
        raw["step"]["largest_tensor"] = {"name": name, "shape": shape}
        found = parse_manifest(json.dumps(raw).encode())
        (reason, *_) = inspect(found, traffic(found, 1000)).reasons()
        return reason.partition(": ")[2]

    assert remedy("slots", [2, 80_000_000]).startswith("use an optimizer with fewer slots")
    assert remedy("gradient", [80_000_000]) == "use a smaller model."
    assert remedy("relu", [32, 5_000_000]) == "use a smaller batch."


def test_a_step_must_fit_a_devices_memory() -> None:
    inspection = inspected(memory={"intermediates": 3 * 2**30})
    assert verdicts(inspection) == {
        "webgpu": "some devices",
        "webgl": "some devices",
        "wasm": "nowhere",
        "cpu": "nowhere",
        "tensorflow-cpu": "everywhere",
        "tensorflow-cuda": "everywhere",
    }
    assert [reason.partition(" a step")[0] for reason in inspection.reasons()] == [
        "On a phone",
        "On a laptop",
    ]
    assert all("6.4 GB: use a smaller batch or model." in reason for reason in inspection.reasons())


def test_slices_help_browsers_that_lack_the_memory() -> None:
    little = manifest(FILES, 0)["step"]
    sliced = {key: little[key] for key in ("memory", "largest_tensor")}
    whole = {"memory": {"intermediates": 7 * 2**30}, "largest_tensor": {"name": "relu", "shape": [2**29]}}
    assert verdicts(inspected(**whole))["wasm"] == "nowhere"
    found = verdicts(inspected(**whole, sliced=sliced))
    assert {backend for backend, verdict in found.items() if verdict == "everywhere"} == {
        "webgpu",
        "webgl",
        "wasm",
        "cpu",
    }
    # TensorFlow takes batches whole.
    assert found["tensorflow-cpu"] == "nowhere"


def test_where_a_backend_cannot_train_no_time_is_given() -> None:
    inspection = inspected(memory={"intermediates": 3 * 2**30})
    best = fastest(inspection.step_times)
    assert "phone" not in best
    assert best["laptop"].backend == "tensorflow-cpu"
    assert {one.backend for one in inspection.step_times if one.range_ms and one.device == "laptop"} == {
        "tensorflow-cpu"
    }


@pytest.mark.parametrize("more", ["flops", "bytes", "runs"])
def test_more_work_takes_longer_everywhere(more: str) -> None:
    row = {"op": "AddV2", "runs": 200, "flops": 10**9, "bytes": 10**8}
    little = {(one.device, one.backend): one.range_ms for one in inspected(ops=[row]).step_times}
    raw = copy.deepcopy(manifest(FILES, 0))
    raw["step"]["ops"] = [row | {more: 10 * row[more]}]  # type: ignore[operator]
    raw["flops"]["train"] = 100 if more != "flops" else 10**10
    found = parse_manifest(json.dumps(raw).encode())
    for one in inspect(found, traffic(found, 1000)).step_times:
        before = little[one.device, one.backend]
        assert before is not None
        assert one.range_ms is not None
        assert one.range_ms[0] > before[0]
        assert one.range_ms[1] > before[1]


def test_a_step_time_is_arithmetic_memory_and_ops_added_up() -> None:
    raw = copy.deepcopy(manifest(FILES, 0))
    raw["flops"] |= {"train": 8 * 10**9, "apply": 0}
    raw["step"]["ops"] = [{"op": "MatMul", "runs": 1000, "flops": 8 * 10**9, "bytes": 6 * 10**8}]
    found = parse_manifest(json.dumps(raw).encode())
    times = inspect(found, traffic(found, 1000)).step_times
    (one,) = [time for time in times if (time.device, time.backend) == ("laptop", "wasm")]
    # 40 and 8 GFLOP/s, 24 and 6 GB/s, 15 and 40 us an op.
    assert one.range_ms == (240.0, 1100.0)
    assert one.basis == "measured"


def test_every_device_has_places_and_every_range_runs_from_slow_to_fast() -> None:
    assert {place.device for place in PLACES} == set(DEVICES)
    for place in PLACES:
        for low, high in (place.rates.gflops, place.rates.gigabytes, place.rates.op_us):
            assert 0 < low < high
        assert place.memory_bytes > 0


def test_json_has_the_keys_of_the_reference() -> None:
    fields = inspected().to_json()
    assert list(fields) == [
        "name",
        "batch_size",
        "parameters",
        "checked",
        "warnings",
        "program",
        "layers",
        "flops",
        "memory",
        "memory_sliced",
        "ops",
        "wire",
        "backends",
        "step_times",
    ]
    assert fields["flops"] == {"train": 100, "apply": 16, "evaluate": 40, "predict": 30, "step": 116}
    assert fields["memory"]["peak"] == 40 + 64 + 96
    assert json.loads(json.dumps(fields))["step_times"][0]["range_ms"][0] > 0
