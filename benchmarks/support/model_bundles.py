"""Writes the bundles that benchmarks run, of the models in keras_models.py.

Usage: `python -m benchmarks.support.model_bundles DIR MODEL...`
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

TASK = """name = "{name}"

[model]
batch_size = {batch_size}
loss = "sparse_categorical_crossentropy"
metrics = ["accuracy"]
optimizer = {{ name = "adam", learning_rate = 0.001 }}
"""


def convert(name: str, directory: Path) -> None:
    """Writes the bundle of one model into `directory`."""
    from benchmarks.support.keras_models import BATCH_SIZES, MODELS

    with tempfile.TemporaryDirectory() as temporary:
        model, task = Path(temporary, "model.keras"), Path(temporary, "task.toml")
        MODELS[name]().save(model)
        task.write_text(TASK.format(name=name, batch_size=BATCH_SIZES.get(name, 32)), "utf-8")
        command = [sys.executable, "-m", "converter", str(model), "--task", str(task), "-o", str(directory)]
        subprocess.run(command, check=True, stdout=sys.stderr)


# Maps the settings in a layer's Keras configuration to TF.js Layers' names.
_CONVOLUTION = {"filters": "filters", "kernel_size": "kernelSize", "strides": "strides", "padding": "padding"}
_ARGUMENTS = {
    "Add": {},
    "BatchNormalization": {"axis": "axis", "momentum": "momentum", "epsilon": "epsilon"},
    "Conv2D": {**_CONVOLUTION, "use_bias": "useBias"},
    "Dense": {"units": "units", "use_bias": "useBias"},
    "Dropout": {"rate": "rate"},
    "Flatten": {},
    "GlobalAveragePooling2D": {},
    "MaxPooling2D": {"pool_size": "poolSize", "strides": "strides", "padding": "padding"},
    "ReLU": {},
}


def architecture(bundle: Path) -> list[dict[str, Any]] | str:
    """Returns the layers of a bundle's Keras model in TF.js Layers' terms, or why it has none."""
    with zipfile.ZipFile(bundle / "model.keras") as archive:
        config = json.loads(archive.read("config.json"))["config"]
    layers: list[dict[str, Any]] = []
    for layer in config["layers"]:
        name, settings = layer["class_name"], layer["config"]
        before = [layers[-1]["name"]] if layers else []
        inputs = _inbound(layer) if layer.get("inbound_nodes") else before
        if name == "InputLayer":
            layers.append({"layer": name, "name": settings["name"], "inputs": [], "config": {}})
            continue
        if name not in _ARGUMENTS:
            return f"TF.js Layers has no {name}."
        renamed = {theirs: settings[ours] for ours, theirs in _ARGUMENTS[name].items()}
        if "activation" in settings:
            renamed["activation"] = settings["activation"]
        layers.append({"layer": name, "name": settings["name"], "inputs": inputs, "config": renamed})
    return layers


def _inbound(layer: dict[str, Any]) -> list[str]:
    """Returns the names of the layers whose outputs a layer of a functional model takes."""
    names: list[str] = []

    def search(value: Any) -> None:
        if isinstance(value, list):
            for part in value:
                search(part)
        elif isinstance(value, dict) and value.get("class_name") == "__keras_tensor__":
            names.append(value["config"]["keras_history"][0])

    search([node["args"] for node in layer["inbound_nodes"]])
    return names


def main() -> None:
    directory = Path(sys.argv[1])
    for name in sys.argv[2:]:
        convert(name, directory / name)


if __name__ == "__main__":
    main()
