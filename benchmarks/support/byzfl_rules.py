"""Imports ByzFL's rules on numpy arrays, with or without torch.

ByzFL imports torch everywhere and its own training framework at the top, which need gigabytes that rules on
arrays do not. Where torch is missing, empty modules stand in for it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any


def load() -> tuple[Any, Any]:
    """Returns ByzFL's modules of aggregators and of pre-aggregators. Raises ImportError without ByzFL."""
    found = importlib.util.find_spec("byzfl")
    if found is None or not found.submodule_search_locations:
        raise ImportError("ByzFL is not installed here: pip install --no-deps byzfl scipy.")
    if importlib.util.find_spec("torch") is None:
        torch, linalg = ModuleType("torch"), ModuleType("torch.linalg")
        vars(torch).update(Tensor=type("Tensor", (), {}), linalg=linalg)
        sys.modules |= {"torch": torch, "torch.linalg": linalg}
    package = ModuleType("byzfl")  # In place of the one whose __init__ imports the framework.
    package.__path__ = list(found.submodule_search_locations)
    sys.modules["byzfl"] = package
    return (
        importlib.import_module("byzfl.aggregators.aggregators"),
        importlib.import_module("byzfl.aggregators.preaggregators"),
    )
