"""Reads a `.keras` file of Keras 3 or 2.12 and later: a zip of configuration and weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from converter.readers.hdf5 import open_h5
from converter.readers.json_text import MAX_JSON_BYTES, read_json
from converter.readers.keras2.compile_config import upgrade_training
from converter.readers.keras2.config_upgrade import upgrade_model
from converter.readers.model_source import Source
from converter.readers.weights import fill_paths
from converter.readers.zip_files import copy_bounded, open_zip, read_member
from converter.refusal import Refusal

CONFIG, METADATA, WEIGHTS = "config.json", "metadata.json", "model.weights.h5"


def read_keras(path: Path, folder: Path, max_bytes: int) -> Source:
    """Reads the model in the zip `path`; unpacks its weights into `folder`. Raises Refusal."""
    with open_zip(path, max_bytes) as archive:
        names = set(archive.namelist())
        if not {CONFIG, WEIGHTS} <= names:
            missing = ", ".join(sorted({CONFIG, WEIGHTS} - names))
            raise Refusal(
                f"{path.name} is damaged or no Keras file, it lacks {missing}; save it with model.save()."
            )
        config = read_json(read_member(archive, CONFIG, MAX_JSON_BYTES), f"{CONFIG} in {path.name}")
        metadata = {}
        if METADATA in names:
            metadata = read_json(read_member(archive, METADATA, MAX_JSON_BYTES), f"{METADATA} in {path.name}")
        weights = folder / WEIGHTS
        with archive.open(WEIGHTS) as packed, weights.open("wb") as copy:
            copy_bounded(packed, copy, max_bytes, WEIGHTS)
    if not isinstance(config, dict) or not isinstance(metadata, dict):
        raise Refusal(
            f"{path.name} is damaged, its {CONFIG} describes no model; save it again with model.save()."
        )
    if str(metadata.get("keras_version", "3")).startswith("2."):
        return _keras_2(config, weights, max_bytes)

    def fill(model: Any) -> None:
        with open_h5(weights, max_bytes):
            pass
        model.load_weights(weights)

    compiled = config.pop("compile_config", None)
    return Source(config, fill, compiled or None, own=True)


def _keras_2(config: dict[str, Any], weights: Path, max_bytes: int) -> Source:
    training = config.get("compile_config")
    compiled = None
    if isinstance(training, dict):
        compiled = upgrade_training(training | {"optimizer_config": training.get("optimizer")})

    def fill(model: Any) -> None:
        with open_h5(weights, max_bytes) as file:
            fill_paths(model, config, file)

    return Source(upgrade_model(config), fill, compiled, old_sigmoid=True)
