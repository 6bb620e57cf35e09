"""Exports one Keras model by TF.js' converter and by Minga, and predicts with both in plain TF.js."""

from __future__ import annotations

import importlib.util
import json
import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np
from keras import tree
from numpy.typing import NDArray

from converter.export.export_formats import WRITERS
from converter.export.model_version import load_version
from converter.refusal import Refusal
from converter.sandbox.process_limits import Limits
from converter.tracing.vector_layout import Layout
from tests.conformance.official_converter.environment import ConverterError, run_converter
from tests.support.keras.reference_cache import ROOT
from tests.support.keras.tfjs_prediction import PredictionError, predict_tfjs
from tests.support.keras.zoo import CASES

Arrays = list[NDArray[Any]]
ROWS, TOKENS = 3, 5
SEED = 3
OURS, THEIRS = "ours", "theirs"


@dataclass
class Exports:
    """What Keras predicts, and what each side does in TF.js, or the sentence why it does not."""

    keras: Arrays
    outputs: dict[str, Arrays] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    def difference(self, side: str, other: str | None = None) -> float:
        """Returns the largest absolute difference of an output to the other side's, or to Keras'."""
        wanted = self.outputs[other] if other else self.keras
        found = self.outputs[side]
        assert [y.shape for y in found] == [y.shape for y in wanted]
        return max(float(np.abs(a - b).max()) for a, b in zip(found, wanted, strict=True))


def build(name: str) -> Any:
    """Builds a model of the gallery or a case of the zoo, with weights that a seed decides."""
    keras.utils.set_random_seed(SEED)
    folder = ROOT / "models" / name
    if not folder.exists():
        return CASES[name].build()
    spec = importlib.util.spec_from_file_location(f"build_{name.replace('-', '_')}", folder / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.build_model()


def graph_models(model: Any, folder: Path) -> Exports:
    """Exports TF.js graph models: theirs from Keras' SavedModel, ours from the `.keras` file."""
    model.export(folder / "saved", format="tf_saved_model", verbose=False)
    theirs = ("--input_format=tf_saved_model", "--output_format=tfjs_graph_model", str(folder / "saved"))
    return _exports(model, folder, "tfjs-graph", theirs)


def layers_models(model: Any, folder: Path) -> Exports:
    """Exports TF.js Layers models of the `.keras` file."""
    file = str(folder / "model.keras")
    theirs = ("--input_format=keras_keras", "--output_format=tfjs_layers_model", file)
    return _exports(model, folder, "tfjs-layers", theirs)


def _exports(model: Any, folder: Path, kind: str, theirs: tuple[str, ...]) -> Exports:
    model.save(folder / "model.keras")
    Layout(model).values().tofile(folder / "weights")
    x = _inputs(model)
    exports = Exports([np.asarray(y) for y in tree.flatten(model(x if len(x) > 1 else x[0], training=False))])
    for side in (OURS, THEIRS):
        try:
            if side == THEIRS:
                run_converter(*theirs, str(folder / THEIRS))
            else:
                _write_ours(kind, folder)
            exports.outputs[side] = _predicted(folder / side, x)
        except (ConverterError, PredictionError, Refusal) as error:
            exports.faults[side] = str(error)
    return exports


def _write_ours(kind: str, folder: Path) -> None:
    place = folder / "zip"
    place.mkdir()
    version = load_version(folder / "model.keras", folder / "weights", Limits())
    with zipfile.ZipFile(WRITERS[kind](version, place)) as packed:
        packed.extractall(folder / OURS)


def _predicted(folder: Path, x: Arrays) -> Arrays:
    signature = json.loads((folder / "model.json").read_text("utf-8")).get("signature") or {}
    names = list(signature.get("inputs", range(len(x))))
    return predict_tfjs(folder, {str(name): array for name, array in zip(names, x, strict=True)})


def _inputs(model: Any) -> Arrays:
    draw = np.random.default_rng(SEED)
    return [
        draw.integers(0, TOKENS, (ROWS, *tensor.shape[1:])).astype("int32")
        if "int" in str(tensor.dtype)
        else draw.normal(size=(ROWS, *tensor.shape[1:])).astype("float32")
        for tensor in model.inputs
    ]
