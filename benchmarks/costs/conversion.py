"""Measures what the comparison with Keras costs a conversion, beside the same conversion without it.

Usage: python -m benchmarks.costs.conversion [--tasks NAME...] [--turns N] [--json]

Both convert the gallery's models (make build) in whole processes, as owners' jobs do, and take turns. The
result is the best of the turns, wall and CPU seconds, since other load on the machine only makes them longer.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TURNS = 3
COMPARED, PLAIN = "converter", "benchmarks.support.plain_conversion"


@dataclass(frozen=True)
class Cost:
    """Seconds of one conversion."""

    wall: float
    cpu: float


def convert(module: str, task: Path) -> Cost:
    """Converts the model of a gallery's task by `python -m module`."""
    with tempfile.TemporaryDirectory(prefix="minga-conversion-") as folder:
        command = [sys.executable, "-m", module, str(task / "built/model.keras")]
        command += ["--task", str(task / "task.toml"), "-o", f"{folder}/bundle"]
        began, before = time.perf_counter(), _children()
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return Cost(time.perf_counter() - began, _children() - before)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(task: Path, turns: int) -> dict[str, str | float]:
    """Returns the seconds of both conversions and the ratio of CPU seconds."""
    compared, plain = [], []
    for _ in range(turns):
        plain.append(convert(PLAIN, task))
        compared.append(convert(COMPARED, task))
    best = {"compared": compared, "plain": plain}
    row: dict[str, str | float] = {"task": task.name}
    for name, costs in best.items():
        row[f"{name}_s"] = round(min(cost.wall for cost in costs), 2)
        row[f"{name}_cpu_s"] = round(min(cost.cpu for cost in costs), 2)
    return row | {"ratio": round(float(row["compared_cpu_s"]) / float(row["plain_cpu_s"]), 2)}


def main() -> None:
    """Prints a row for each task."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs.conversion")
    parser.add_argument("--tasks", nargs="*")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    built = sorted(file.parents[1] for file in ROOT.glob("models/*/built/model.keras"))
    if not built:
        raise SystemExit("No model of the gallery is built; run `make build` first.")
    rows = [measure(task, args.turns) for task in built if not args.tasks or task.name in args.tasks]
    if args.json:
        print(json.dumps({"rows": rows}, indent=1))
        return
    for row in rows:
        print(f"{row['task']:>12}: {row['plain_s']} s plain, {row['compared_s']} s compared ({row['ratio']})")


if __name__ == "__main__":
    main()
