"""The figures of the benchmark: the table rule by attack, and the worst gap of the best rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from backend.lab.robustness.attack_plan import NO_ATTACK
from backend.lab.robustness.rule_names import PLAIN
from benchmarks.robustness.cells import Cell, CellResult

Results = Mapping[Cell, CellResult]


def rows(results: Results) -> list[dict[str, Any]]:
    """Returns a row for each split, rule and attack: means over the seeds."""
    keys = dict.fromkeys((cell.alpha, cell.rule, cell.attack) for cell in results)
    return [_row(results, *key) for key in keys]


def summary(results: Results) -> dict[str, Any]:
    """Returns for each split the rule with the least worst gap, and what remains of backdoors.

    A gap is the accuracy of the plain mean where all participants are honest, minus that of a rule under an
    attack, each a mean over the seeds. Negative gaps stay. `honest_ejections` are those of the best rules.
    Even splits are `iid`, others `skewed`; fields of what was not run are None.
    """
    table = rows(results)
    figures: dict[str, Any] = {}
    ejected = None
    for name, of_split in (("iid", _even(table)), ("skewed", _skewed(table))):
        clean = [row["accuracy"] for row in of_split if (row["rule"], row["attack"]) == (PLAIN, NO_ATTACK)]
        gaps = {
            rule: max(clean[0] - row["accuracy"] for row in of_rule)
            for rule, of_rule in _by_rule(of_split).items()
        }
        best = min(gaps, key=lambda rule: gaps[rule]) if gaps else None
        if best is not None:
            ejected = (ejected or 0) + sum(row["honest_ejections"] for row in of_split if row["rule"] == best)
        figures |= {
            f"clean_{name}": clean[0] if clean else None,
            f"best_{name}": best,
            f"worst_gap_{name}": None if best is None else round(gaps[best], 4),
        }
    return figures | _backdoors(_even(table)) | {"honest_ejections": ejected}


def text_table(table: list[dict[str, Any]]) -> str:
    """Returns the accuracy in percent of rules by attacks, with a backdoor's success behind a slash."""
    blocks = []
    for alpha in dict.fromkeys(row["alpha"] for row in table):
        of_split = [row for row in table if row["alpha"] == alpha]
        attacks = list(dict.fromkeys(row["attack"] for row in of_split))
        found = {(row["rule"], row["attack"]): row for row in of_split}
        lines = ["even split" if alpha is None else f"Dirichlet {alpha:g}", "\t".join(["rule", *attacks])]
        lines += [
            "\t".join([rule, *(_cell(found.get((rule, attack))) for attack in attacks)])
            for rule in dict.fromkeys(row["rule"] for row in of_split)
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _row(results: Results, alpha: float | None, rule: str, attack: str) -> dict[str, Any]:
    found = [
        result
        for cell, result in results.items()
        if (cell.alpha, cell.rule, cell.attack) == (alpha, rule, attack)
    ]
    return {
        "alpha": alpha,
        "rule": rule,
        "attack": attack,
        "accuracy": _mean([one.final_accuracy for one in found]),
        "backdoor": _mean([one.final_backdoor for one in found if one.final_backdoor is not None]),
        "refused": sum(one.refused for one in found),
        "honest_ejections": sum(one.honest_ejections for one in found),
        "abandoned": sum(one.abandoned for one in found),
        "seeds": len(found),
    }


def _backdoors(table: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the largest success with the plain mean, and the least that a rule leaves to the largest."""
    largest = {
        rule: max(successes)
        for rule, of_rule in _by_rule(table).items()
        if (successes := [row["backdoor"] for row in of_rule if row["backdoor"] is not None])
    }
    undefended = largest.pop(PLAIN, None)
    best = min(largest, key=lambda rule: largest[rule]) if largest else None
    return {
        "backdoor_undefended": undefended,
        "backdoor_defended": None if best is None else largest[best],
        "backdoor_rule": best,
    }


def _by_rule(table: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Returns the rows under attack of each rule."""
    attacked = [row for row in table if row["attack"] != NO_ATTACK]
    return {
        rule: [row for row in attacked if row["rule"] == rule]
        for rule in dict.fromkeys(row["rule"] for row in attacked)
    }


def _even(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in table if row["alpha"] is None]


def _skewed(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in table if row["alpha"] is not None]


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    backdoor = "" if row["backdoor"] is None else f"/{100 * row['backdoor']:.0f}"
    return f"{100 * row['accuracy']:.1f}{backdoor}"


def _mean(values: Iterable[float]) -> float | None:
    given = list(values)
    return round(sum(given) / len(given), 4) if given else None
