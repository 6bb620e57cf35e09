"""The bundles that benchmarks run: `python -m benchmarks.bundles DIR MODEL...` writes them.

digits   the gallery's task: 8x8 pixels, 7,490 parameters
cnn      28x28 pixels, two convolutions, 107,000 parameters: a first real image classifier
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
batch_size = 32
loss = "sparse_categorical_crossentropy"
metrics = ["accuracy"]
optimizer = {{ name = "adam", learning_rate = 0.001 }}
"""


def build_model(name: str) -> Any:
    """The Keras model of that name."""
    import keras

    layers = keras.layers
    if name == "digits":
        head = [layers.Conv2D(16, 3, padding="same", activation="relu")]
        head += [layers.Conv2D(24, 3, padding="same", activation="relu"), layers.MaxPooling2D()]
        tail = [layers.Flatten(), layers.Dropout(0.25)]
        return keras.Sequential(
            [keras.Input((8, 8, 1)), *head, *tail, layers.Dense(10, activation="softmax")]
        )
    head = [layers.Conv2D(16, 3, padding="same", activation="relu"), layers.MaxPooling2D()]
    head += [layers.Conv2D(32, 3, padding="same", activation="relu"), layers.MaxPooling2D()]
    tail = [layers.Flatten(), layers.Dense(64, activation="relu")]
    return keras.Sequential([keras.Input((28, 28, 1)), *head, *tail, layers.Dense(10, activation="softmax")])


def convert(name: str, directory: Path) -> None:
    """Writes the bundle of one model into `directory`."""
    with tempfile.TemporaryDirectory() as temporary:
        model, task = Path(temporary, "model.keras"), Path(temporary, "task.toml")
        build_model(name).save(model)
        task.write_text(TASK.format(name=name), "utf-8")
        command = [sys.executable, "-m", "converter", str(model), "--task", str(task), "-o", str(directory)]
        subprocess.run(command, check=True, stdout=sys.stderr)


# What Keras writes into a layer's configuration, and TF.js Layers understands.
_ARGUMENTS = {
    "Conv2D": {"filters": "filters", "kernel_size": "kernelSize", "strides": "strides", "padding": "padding"},
    "Dense": {"units": "units"},
    "Dropout": {"rate": "rate"},
    "Flatten": {},
    "MaxPooling2D": {"pool_size": "poolSize", "strides": "strides", "padding": "padding"},
}


def architecture(bundle: Path) -> list[dict[str, Any]]:
    """The layers of a bundle's sequential Keras model, in the words of TF.js Layers."""
    with zipfile.ZipFile(bundle / "model.keras") as archive:
        config = json.loads(archive.read("config.json"))
    found = []
    for layer in config["config"]["layers"]:
        name, given = layer["class_name"], layer["config"]
        if name == "InputLayer":
            continue
        wanted = {theirs: given[ours] for ours, theirs in _ARGUMENTS[name].items()}
        if "activation" in given:
            wanted["activation"] = given["activation"]
        found.append({"layer": name, "config": wanted})
    return found


def main() -> None:
    directory = Path(sys.argv[1])
    for name in sys.argv[2:]:
        convert(name, directory / name)


if __name__ == "__main__":
    main()
