"""Writes byzfl.json: `PYTHON -m tests.contract.vectors.robust.record_byzfl`, with a Python that has ByzFL.

Ties that a rule may break either way, and rules that draw lots, are left out.
"""

from __future__ import annotations

import json
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.support import byzfl_rules
from tests.contract.vectors import write

Many = NDArray[np.float64]

SIZE = 12
# Clients and false ones among them.
COHORTS = ((5, 1), (10, 3), (11, 4), (16, 4))
RULES_WITH_F = ("TrMean", "Krum", "MultiKrum", "MDA", "Meamed")
OTHERS: tuple[tuple[str, dict[str, float]], ...] = (
    ("Average", {}),
    ("Median", {}),
    ("GeometricMedian", {"nu": 0.1, "T": 3}),
    ("CenteredClipping", {"L": 1, "tau": 1.5}),
    ("CenteredClipping", {"L": 5, "tau": 3.0}),
)
CHAINS = (
    (("NNM",), "TrMean"),
    (("NNM",), "MultiKrum"),
    (("NNM",), "GeometricMedian"),
    (("ARC",), "Median"),
    (("ARC", "NNM"), "TrMean"),
    (("Clipping",), "Average"),
)
CLIP = 2.0


def inputs(count: int, f: int) -> dict[str, Many]:
    """Updates [count, SIZE] of each kind; the first f are false."""
    random = np.random.default_rng([count, f])
    clean = 0.3 + 0.7 * random.standard_normal((count, SIZE))
    mean, deviation = clean[f:].mean(axis=0), clean[f:].std(axis=0)
    noise = 1e-3 * random.standard_normal((f, SIZE))  # Copies that differ a little make no ties.

    def lied(values: Many) -> Many:
        return np.concatenate([values + noise, clean[f:]])

    return {
        "clean": clean,
        "sign flip": lied(-clean[:f]),
        "a little is enough": lied(np.tile(mean - 1.5 * deviation, (f, 1))),
        "inner product": lied(np.tile(-2.0 * mean, (f, 1))),
        "mimic": lied(np.tile(clean[f], (f, 1))),
        "huge": lied(np.full((f, SIZE), 1e6)),
        "shuffled": random.permutation(lied(-3.0 * clean[:f])),
        "tiny": 1e-9 * lied(-clean[:f]),
        "identical": np.tile(clean[0], (count, 1)),
        "zeros": np.zeros((count, SIZE)),
    }


def aggregate(
    modules: tuple[Any, Any],
    before: tuple[str, ...],
    rule: str,
    arguments: dict[str, Any],
    f: int,
    updates: Many,
) -> list[float]:
    """What ByzFL makes of the updates."""
    rules, pre_rules = modules
    updates = updates.copy()
    for name in before:
        updates = getattr(pre_rules, name)(**({"c": CLIP} if name == "Clipping" else {"f": f}))(updates)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: list[float] = getattr(rules, rule)(**arguments)(updates).tolist()
    return found


def main() -> None:
    """Computes and writes all cases."""
    modules = byzfl_rules.load()
    cases: list[dict[str, Any]] = []
    sets: dict[str, list[list[float]]] = {}
    for count, f in COHORTS:
        rules: list[tuple[tuple[str, ...], str, dict[str, Any]]] = [
            ((), rule, {"f": f}) for rule in RULES_WITH_F
        ]
        rules += [((), rule, dict(arguments)) for rule, arguments in OTHERS]
        rules += [(steps, rule, {"f": f} if rule in RULES_WITH_F else {}) for steps, rule in CHAINS]
        for kind, updates in inputs(count, f).items():
            key = f"{kind}, {f} of {count}"
            sets[key] = updates.tolist()
            for before, rule, arguments in rules:
                result = aggregate(modules, before, rule, arguments, f, updates)
                cases.append(
                    {
                        "updates": key,
                        "f": f,
                        "before": before,
                        "rule": rule,
                        "arguments": arguments,
                        "result": result,
                    }
                )
    content = {"byzfl": metadata.version("byzfl"), "clip": CLIP, "updates": sets, "cases": cases}
    lines = json.dumps(content, separators=(",", ":")).replace("},{", "},\n{")
    write({"robust/byzfl.json": lines + "\n"})


if __name__ == "__main__":
    main()
