"""Predicts with a TF.js model as anybody would: plain TF.js on Node.js, without Minga's engine."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.support.timeouts import LONG

SCRIPT = Path(__file__).with_name("predict_tfjs.cjs")


class PredictionError(Exception):
    """TF.js cannot load the model, or cannot run it; says why."""


def predict_tfjs(folder: Path, inputs: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    """Returns the outputs of the graph or Layers model in `folder`, in its own order.

    `inputs` are named as in its signature, in its order. Raises PredictionError.
    """
    named = {
        name: {"shape": x.shape, "dtype": str(x.dtype), "data": x.ravel().tolist()}
        for name, x in inputs.items()
    }
    asked = json.dumps({"folder": str(folder), "inputs": named})
    done = subprocess.run(
        ["node", str(SCRIPT)], input=asked, capture_output=True, text=True, timeout=LONG, check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.partition(":")[0].endswith("Error")]
        raise PredictionError(lines[0] if lines else done.stderr[-500:])
    return [np.reshape(np.asarray(y["data"]), y["shape"]) for y in json.loads(done.stdout)]
