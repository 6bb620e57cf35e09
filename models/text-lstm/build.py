"""Builds the task text-lstm: JSDoop's two LSTMs with their first weights, and shards of a play.

Usage: python build.py OUTPUT, which writes model.keras and shards/ into the folder OUTPUT.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras

SEED = 10
LENGTH, CHARACTERS = 40, 65
CELLS = 50
SHARD = 200
HERE = Path(__file__).parent


def build_model() -> Any:
    """Builds two LSTMs (Morell et al. 2019): 40 characters to each next one's probabilities.

    The model has 46,715 parameters.
    """
    keras.utils.set_random_seed(SEED)
    layers = keras.layers
    characters = keras.Input((LENGTH,), dtype="int32", name="characters")
    x = keras.ops.one_hot(characters, CHARACTERS)
    for number in (1, 2):
        x = layers.LSTM(CELLS, return_sequences=True, name=f"lstm_{number}")(x)
    following = layers.Dense(CHARACTERS, activation="softmax", name="next")(x)
    return keras.Model(characters, following, name="text_lstm")


def write_shards(directory: Path) -> None:
    """Writes windows of the play in shards of at most 200; its last tenth is held out."""
    # Imported here because building the model alone needs only Keras.
    from backend.__main__ import main as minga_main

    task, play = HERE / "task.toml", HERE / "play.txt"
    flags = ["--shard-examples", str(SHARD), "-o", str(directory), "--json"]
    if code := minga_main(["shard", str(play), "--task", str(task), *flags]):
        raise SystemExit(code)


def main() -> int:
    """Writes everything into the folder given as the only argument."""
    output = Path(sys.argv[1])
    output.mkdir(parents=True, exist_ok=True)
    build_model().save(output / "model.keras")
    write_shards(output / "shards")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
