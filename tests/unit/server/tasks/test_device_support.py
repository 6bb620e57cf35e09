"""Who can take part, in words."""

from __future__ import annotations

from pathlib import Path

import msgspec

from backend.formats.layer_costs import TensorShape
from backend.formats.manifest import Manifest, parse_manifest
from backend.server.estimates.traffic import traffic
from backend.server.tasks.device_support import browsers, device_support, payload, trained_with
from backend.server.tasks.model_inspection import Inspection, inspect
from tests.support.tasks.tiny_task import write_task


def small(folder: Path) -> Manifest:
    write_task(folder)
    return parse_manifest((folder / "bundle/bundle.json").read_bytes())


def inspected(manifest: Manifest) -> Inspection:
    return inspect(manifest, traffic(manifest, 1000))


def test_a_small_model_trains_everywhere_in_words(tmp_path: Path) -> None:
    found = inspected(small(tmp_path))
    told = device_support(found)
    assert [(one.device, one.can) for one in told] == [("phone", True), ("laptop", True), ("gpu", True)]
    assert told[0].text.startswith("Phones can take part: a step takes ")
    assert told[0].text.endswith("of the 1.1 GB of memory that one tab can count on.")
    assert [line.partition(":")[0] for line in browsers(found)] == ["WebGPU", "WebGL", "WebAssembly"]
    assert trained_with(found) == (
        "Browsers train it on all devices with WebGPU, WebGL, WebAssembly and JavaScript. "
        "Peers train it with TensorFlow."
    )
    assert payload(found.traffic).endswith(
        "For each round or work unit it fetches 40 bytes of weights, and sends 40 bytes."
    )


def test_what_is_too_big_for_phones_is_said_with_what_to_change(tmp_path: Path) -> None:
    manifest = small(tmp_path)
    memory = msgspec.structs.replace(manifest.step.memory, intermediates=1 << 30)
    step = msgspec.structs.replace(manifest.step, memory=memory)
    phone, laptop, _gpu = device_support(inspected(msgspec.structs.replace(manifest, step=step)))
    assert (phone.can, laptop.can) == (False, True)
    assert phone.text.startswith("Phones cannot take part. On a phone a step may take 1.1 GB of memory")


def test_programs_that_know_too_few_dimensions_are_left_out(tmp_path: Path) -> None:
    manifest = small(tmp_path)
    deepest = TensorShape("x", [1, 1, 1, 1, 1, 1, 4])
    step = msgspec.structs.replace(manifest.step, deepest_tensor=deepest)
    found = inspected(msgspec.structs.replace(manifest, step=step))
    assert [line.partition(":")[0] for line in browsers(found)] == ["WebAssembly"]
    assert trained_with(found).startswith("Browsers train it on all devices with WebAssembly")
