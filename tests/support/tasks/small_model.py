"""Makes a small model for two kinds of pictures.

`python -m tests.support.tasks.small_model FILE` saves it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from tests.support.programs import fork_server_pool

ROOT = Path(__file__).parents[3]


@cache
def small_model() -> bytes:
    """Returns the .keras file, made by a process that has imported Keras already."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        command = [fork_server_pool.executable(), "-m", "tests.support.tasks.small_model", str(path)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        return path.read_bytes()


def save(path: Path) -> None:
    """Writes the file."""
    import keras

    layers = [
        keras.Input((8, 8, 3)),
        keras.layers.Conv2D(4, 3, activation="relu"),
        keras.layers.GlobalAveragePooling2D(),
        keras.layers.Dense(2),
    ]
    keras.Sequential(layers).save(path)


if __name__ == "__main__":
    save(Path(sys.argv[1]))
