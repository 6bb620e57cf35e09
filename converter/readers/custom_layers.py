"""Imports the owner's layers for `--custom layers.py`, on the owner's machine only.

This is never used for files that others send.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import keras
from keras.src.utils import python_utils

from converter.refusal import Refusal
from converter.tracing.attribute_patch import patched_attributes


def import_custom(path: Path) -> dict[str, Any]:
    """Runs the Python file and returns its layers, losses and functions by name, in Keras' form.

    Raises Refusal where the file cannot be run.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise Refusal(
            f"{path} is not a Python file; --custom needs the file that defines the model's layers."
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise Refusal(
            f"{path.name} cannot be run ({type(error).__name__}: {error}); repair it, or leave only the "
            "model's layers, losses and functions in it, and convert again."
        ) from error
    definitions = {
        name: value
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", None) == module.__name__
    }
    return {**keras.saving.get_custom_objects(), **definitions}


@contextmanager
def own_lambdas(path: Path) -> Iterator[None]:
    """While open, Lambda layers are loaded with the names of the imported file `path`, such as its imports.

    A file stores a lambda's code without the names that the code uses.
    """
    names = vars(sys.modules[path.stem])
    load = partial(python_utils.func_load, globs=names)
    with patched_attributes(python_utils, {"func_load": load}):
        yield
