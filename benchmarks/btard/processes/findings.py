"""Counts what members of a mesh found of each other's work, by the engines of validator and target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """What one member found of the work of `target` in `round`; `distance` is None where bytes decide."""

    target: str
    round: int
    found: str
    distance: float | None


def findings_of(found: Sequence[tuple[str, Finding]], names: Mapping[str, str]) -> dict[str, Any]:
    """Returns the numbers of all findings, each with its validator's engine; `names` has those of clients.

    A validation compared work. A row is for one engine that validated another one.
    """
    compared = [(validator, one) for validator, one in found if one.found != "missing"]
    pairs = defaultdict[tuple[str, str], list[Finding]](list)
    for validator, one in compared:
        pairs[validator, names[one.target]].append(one)
    rows = [
        {
            "validator": validator,
            "target": target,
            "validations": len(pairs[validator, target]),
            "farthest": _farthest(pairs[validator, target]),
        }
        for validator, target in sorted(pairs)
    ]
    return {
        "validations": len(compared),
        "accusations": sum(one.found == "other" for _, one in compared),
        "doubtful": sum(one.found == "doubtful" for _, one in compared),
        "missing": len(found) - len(compared),
        "by_hash": sum(one.distance is None for _, one in compared),
        "farthest": _farthest([one for _, one in compared]),
        "rows": rows,
    }


def _farthest(found: Sequence[Finding]) -> float | None:
    """Returns the largest distance, to three digits; None where bytes decide."""
    distances = [one.distance for one in found if one.distance is not None]
    return float(f"{max(distances):.3g}") if distances else None


def pair_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns a table of validations, with the largest distance where there is one."""
    validators, targets = (sorted({str(row[role]) for row in rows}) for role in ("validator", "target"))
    cells = {(row["validator"], row["target"]): _cell(row) for row in rows}
    lines = [["validator", *targets]]
    lines += [[one, *(cells.get((one, target), "-") for target in targets)] for one in validators]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def _cell(row: Mapping[str, Any]) -> str:
    farthest = row["farthest"]
    return str(row["validations"]) if farthest is None else f"{row['validations']} ({farthest:.2g})"
