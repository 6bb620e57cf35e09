"""All families of cases, by the names that reports give them."""

from __future__ import annotations

from importlib import import_module

from tests.conformance.ops.case import Case, Family, start_anew

# What makes the cases of a family, in the module of its name. Those import TensorFlow, for which whoever
# only collects tests need not wait.
FAMILIES: dict[str, tuple[str, ...]] = {
    "elementwise": (
        "functions",
        "whole_numbers",
        "casts",
        "activation_gradients",
    ),
    "binary": (
        "arithmetic",
        "powers",
        "divisions",
        "comparisons",
        "choices",
    ),
    "windows": ("convolutions", "depthwise", "pools"),
    "products": ("products", "einsums", "biases", "fused"),
    "reductions": (
        "reductions",
        "places",
        "running",
        "distributions",
    ),
    "slicing": ("strided", "plain", "parts", "joins"),
    "indexing": ("gathers", "scatters", "segments", "one_hots"),
    "images": ("resizes", "mirrors", "blocks"),
    "special": ("functions", "order", "products", "updates"),
    "tiles": ("matrices", "windows", "pooled", "each", "axes"),
    "volumes": ("convolutions", "pools"),
    "chains": ("copies", "computed"),
    "shapes": ("shapes", "transposes", "paddings", "blocks", "makers"),
}


def cases(name: str) -> list[Case]:
    """The cases of a family, the same on every call."""
    module = import_module(f"tests.conformance.ops.cases.{name}")
    made: list[Case] = []
    for maker in FAMILIES[name]:
        family: Family = getattr(module, maker)
        start_anew()
        made += family()
    return made
