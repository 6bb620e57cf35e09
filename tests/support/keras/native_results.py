"""Prints TensorFlow's results of bundles' native graphs.

Usage: `python -m tests.support.keras.native_results FOLDER ...`. It runs in its own process because
TensorFlow takes long to import and much memory.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tests.support.keras.native import NativeBundle, read_batches, train


def main() -> None:
    results = {}
    for directory in map(Path, sys.argv[1:]):
        reference = directory / "reference"
        seed = json.loads((reference / "inputs.json").read_text("utf-8"))["seed"]
        result = train(NativeBundle(directory), read_batches(reference), seed)
        results[directory.name] = {
            "reports": result.reports,
            "gradient": result.gradient.tolist(),
            "vector": result.vector.tolist(),
        }
    print(json.dumps(results))


if __name__ == "__main__":
    main()
