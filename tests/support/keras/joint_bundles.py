"""Write bundles of models with several objectives, their batches, and what the native graphs make of them.

Usage: python -m tests.support.keras.joint_bundles DIR CASE...

DIR/<case>/ holds the bundle and, in reference/, what tests/support/keras/reference.py describes, except that
the native graphs computed it. The converter has compared those with Keras (`checked` in the manifest).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

# TensorFlow reads these at import.
os.environ.update(CUDA_VISIBLE_DEVICES="-1", TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")

import keras
import numpy as np

from converter.bundle.bundle_writer import write_bundle
from converter.conversion_task import ConversionTask
from converter.objectives.objective_tables import read_objectives
from converter.sandbox.process_limits import Limits
from tests.support.keras import joint_models as models
from tests.support.keras.native import NativeBundle, train

ROWS, STEPS, SEED = 8, 10, 11
ADAM = {"name": "adam", "learning_rate": 0.01}
CASES: dict[str, tuple[Any, Any]] = {
    "autoencoder": (models.autoencoder, models.AUTOENCODER),
    "adversarial": (models.adversarial, models.ADVERSARIAL),
    "triplets": (lambda: models.siamese(("anchor", "positive", "negative")), models.TRIPLET),
}


def batches(manifest: Any) -> list[dict[str, Any]]:
    """Batches for the inputs of a bundle; the second is weighted unevenly, the third padded."""
    generator = np.random.default_rng(SEED)
    made = []
    for step in range(STEPS):
        batch = {
            f"x_{i}": generator.uniform(0.0, 1.0, (ROWS, *spec["shape"])).astype(np.float32)
            for i, spec in enumerate(manifest["inputs"])
        }
        weight = np.ones(ROWS, np.float32)
        if step == 1:
            weight = generator.uniform(0.25, 2.0, ROWS).astype(np.float32)
        if step == 2:
            weight[-3:] = 0.0
            for array in batch.values():
                array[-3:] = array[0]
        made.append({**batch, "sample_weight": weight})
    return made


def write_case(name: str, folder: Path) -> None:
    """Write bundle and reference of one case into `folder`, which must not exist."""
    build, objectives = CASES[name]
    keras.utils.set_random_seed(SEED)
    task = ConversionTask(name, ROWS, optimizer=ADAM, objectives=read_objectives(objectives))
    folder.mkdir()
    with tempfile.TemporaryDirectory() as temporary:
        build().save(Path(temporary, "model.keras"))
        write_bundle(Path(temporary, "model.keras"), task, folder, Limits())
    bundle = NativeBundle(folder)
    reference = folder / "reference"
    reference.mkdir()
    given = batches(bundle.manifest)
    write_inputs(given, reference)
    result = train(bundle, given, SEED)
    expected = {"losses": result.losses, "metrics": result.metrics}
    (reference / "expected.json").write_text(json.dumps(expected), "utf-8")
    (reference / "case.json").write_text(json.dumps({"allowance": None}), "utf-8")
    result.gradient.astype("<f4").tofile(reference / "gradient.bin")
    result.vector.astype("<f4").tofile(reference / "vector.bin")


def write_inputs(given: list[dict[str, Any]], reference: Path) -> None:
    """Write batches as browsers read them: a table of names, and one blob of values."""
    blob, table = bytearray(), []
    for batch in given:
        entries = {}
        for name, array in batch.items():
            entries[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": len(blob)}
            blob += array.tobytes()
        table.append(entries)
    (reference / "inputs.bin").write_bytes(blob)
    (reference / "inputs.json").write_text(json.dumps({"seed": SEED, "batches": table}), "utf-8")


def main() -> None:
    """Write the cases."""
    for name in sys.argv[2:]:
        write_case(name, Path(sys.argv[1]) / name)


if __name__ == "__main__":
    main()
