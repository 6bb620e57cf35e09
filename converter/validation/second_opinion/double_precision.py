"""Loads the model of a bundle in float64, so that Keras' own rounding can be told from a bundle's fault."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import keras


@contextmanager
def double_precision(file: Path) -> Iterator[Path]:
    """While open, Keras computes in float64. Yields a file with the model of a `.keras` file in float64."""
    usual = keras.config.floatx()
    with tempfile.TemporaryDirectory(prefix="minga-float64-") as folder:
        doubled = Path(folder) / file.name
        with zipfile.ZipFile(file) as source, zipfile.ZipFile(doubled, "w") as target:
            for name in source.namelist():
                content = source.read(name)
                if name == "config.json":
                    content = content.replace(b'"float32"', b'"float64"')
                target.writestr(name, content)
        keras.config.set_floatx("float64")
        try:
            yield doubled
        finally:
            keras.config.set_floatx(usual)
