"""Fixtures of the converter's tests; TensorFlow is imported once, before warnings become errors."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from converter.sandbox.process_limits import quiet_tensorflow

    quiet_tensorflow()
    import keras
    import tensorflow as tf

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from converter.bundle.bundle_writer import write_bundle
from converter.conversion_task import ConversionTask
from converter.sandbox.process_limits import Limits
from tests.support.keras.native import NativeBundle

__all__ = ["keras", "tf"]

Convert = Callable[..., NativeBundle]
# Text of a Python file to the file and what it defines.
OwnFile = Callable[[str], tuple[Path, Any]]
LIMITS = Limits()


@pytest.fixture
def convert(tmp_path: Path) -> Convert:
    """Convert a model in this process: `convert(model, loss="mse", ...)` gives the bundle, loaded."""

    def run(
        model: Any,
        batch_size: int = 4,
        limits: Limits = LIMITS,
        custom: Path | None = None,
        **settings: Any,
    ) -> NativeBundle:
        settings = {"loss": "mse", "optimizer": {"name": "sgd"}} | settings
        model.save(tmp_path / "model.keras")
        directory = tmp_path / "bundle"
        directory.mkdir()
        task = ConversionTask("test", batch_size, **settings)
        write_bundle(tmp_path / "model.keras", task, directory, limits, custom)
        return NativeBundle(directory)

    return run


@pytest.fixture
def own_file(tmp_path: Path) -> Iterator[OwnFile]:
    """Write an owner's Python file and import it, as in the process that trained the model."""
    path = tmp_path / "own_layers_of_a_test.py"

    def write(text: str) -> tuple[Path, Any]:
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return path, module

    yield write
    sys.modules.pop(path.stem, None)
