"""Reads the `.h5` file of Keras 2 and of Keras 3's legacy format: everything in one HDF5 file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from converter.readers.hdf5 import names_attribute, open_h5, text_attribute
from converter.readers.json_text import read_json
from converter.readers.keras2.compile_config import upgrade_training
from converter.readers.keras2.config_upgrade import upgrade_model
from converter.readers.model_source import Source
from converter.readers.weights import fill_layers
from converter.refusal import Refusal


def read_h5(path: Path, max_bytes: int) -> Source:
    """Reads the model in the HDF5 file `path`. Raises Refusal."""
    with open_h5(path, max_bytes) as file:
        text = text_attribute(file, "model_config")
        if text is None:
            raise Refusal(
                f"{path.name} holds weights but no layers; save the whole model with model.save(), "
                "not with save_weights()."
            )
        config = read_json(text, f"model_config in {path.name}")
        training = text_attribute(file, "training_config")
        old = not (text_attribute(file, "keras_version") or "").startswith("3.")
        compiled = (
            upgrade_training(read_json(training, f"training_config in {path.name}")) if training else None
        )

    def fill(model: Any) -> None:
        with open_h5(path, max_bytes) as file:
            fill_layers(model, _arrays(file, path.name))

    return Source(upgrade_model(config), fill, compiled, old_sigmoid=old)


def _arrays(file: Any, name: str) -> dict[str, list[Any]]:
    if "model_weights" not in file:
        raise Refusal(f"{name} holds no weights; save the whole model with model.save().")
    group = file["model_weights"]
    return {
        layer: [group[layer][weight][()] for weight in names_attribute(group[layer], "weight_names")]
        for layer in names_attribute(group, "layer_names")
    }
