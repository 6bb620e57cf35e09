"""Runs a bundle's native graphs, as a peer does, over a reference's batches."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from backend.formats.manifest import SignatureName
from backend.peer.training.graphs import import_graphs, open_bundle
from tests.support.keras.comparison import metric_values, relative_error
from tests.support.keras.reference import uniform_input

__all__ = ["NativeBundle", "Result", "metric_values", "read_batches", "relative_error", "train"]

Vector = NDArray[np.float32]


class NativeBundle:
    """A bundle on disk, run by the peer's own code; arrays have the manifest's names."""

    def __init__(self, directory: Path) -> None:
        self.manifest = json.loads((directory / "bundle.json").read_text("utf-8"))
        self.weights = np.fromfile(directory / "weights.bin", "<f4")
        self._graphs = import_graphs(open_bundle(directory, self.manifest["signatures"]), "cpu")

    def run(self, signature: SignatureName, inputs: dict[str, Any]) -> dict[str, Any]:
        """Runs a graph once; ignores inputs that the signature does not have."""
        specs = self.manifest["signatures"][signature]["inputs"]
        fed = {s["name"]: tf.constant(inputs[s["name"]], s["dtype"], s["shape"]) for s in specs}
        return {name: value.numpy() for name, value in self._graphs.run[signature](fed).items()}


@dataclass(frozen=True)
class Result:
    """The quantities that `reference.py` calls expected, computed by a bundle."""

    losses: list[float]
    metrics: list[dict[str, float]]
    reports: list[list[float]]
    gradient: Vector
    vector: Vector


def read_batches(reference: Path) -> list[dict[str, Any]]:
    """Returns the batches of inputs.json as arrays by name."""
    blob = (reference / "inputs.bin").read_bytes()
    batches = json.loads((reference / "inputs.json").read_text("utf-8"))["batches"]
    return [
        {
            name: np.frombuffer(blob, s["dtype"], int(np.prod(s["shape"])), s["offset"]).reshape(s["shape"])
            for name, s in batch.items()
        }
        for batch in batches
    ]


def train(bundle: NativeBundle, batches: list[dict[str, Any]], seed: int) -> Result:
    """Trains from version 0 over the batches, one step each."""
    manifest = bundle.manifest
    size, optimizer = manifest["parameters"]["trainable"], manifest["optimizer"]
    trainable, state = bundle.weights[:size], bundle.weights[size:]
    slots = np.zeros((optimizer["slots"], size), np.float32)
    losses, metrics, reports, gradient = [], [], [], None
    for step, batch in enumerate(batches, 1):
        draws = {
            r["name"]: uniform_input(tuple(r["shape"]), seed, step, k)
            for k, r in enumerate(manifest["random"])
        }
        out = bundle.run("train", {"trainable": trainable, "state": state, **batch, **draws})
        losses.append(float(out["loss"]))
        metrics.append(metric_values(manifest, out))
        reports.append([losses[-1], *map(float, np.ravel(out.get("metrics", ())))])
        gradient = out["gradient"] if gradient is None else gradient
        state = out.get("new_state", state)
        rest: dict[str, Any] = {name: out[name] for name in ("gradient", "row_squares") if name in out}
        rest["learning_rate"] = optimizer["learning_rate"]
        rest |= {"step": step, "past_steps": 0}
        moved = bundle.run("apply", {"trainable": trainable, "slots": slots, **rest})
        trainable, slots = moved["new_trainable"], moved.get("new_slots", slots)
    assert gradient is not None
    return Result(losses, metrics, reports, gradient, np.concatenate([trainable, state]))
