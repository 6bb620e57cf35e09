"""Federated training beside Keras' own `fit`: the same model, first weights, data and number of samples.

Usage: python -m benchmarks.accuracy.federated --task cifar|titanic|shakespeare [--partition iid dirichlet]
[--seed 1 2 3] [--rounds N] [--examples N] [--save FOLDER] [--json]

For each seed, the model of benchmarks/tasks/<task>/ is built and converted, its data (from MINGA_DATA,
default ../shared/data) are dealt out to four clients by `minga shard`, and a real server and four real peers
on loopback train it by the plan of its task file. Keras trains the same weights on the same examples, as many
samples. Both are measured by Keras on the same held-out examples. --rounds and --examples make it smaller;
--save writes <task>.json and <task>.svg, the curves, into a folder, and the task's rows into FOLDER.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.accuracy.report import Compared, Report, picture, report, rows, with_rows
from benchmarks.support.dense_task import ROOT
from benchmarks.support.training_run import ONE_CORE
from benchmarks.tasks import NAMES

PARTITIONS = ("iid", "dirichlet")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy.federated", description=__doc__)
    parser.add_argument("--task", choices=NAMES, required=True)
    parser.add_argument("--partition", choices=PARTITIONS, nargs="+", default=["iid"])
    parser.add_argument("--seed", type=int, nargs="+", default=[1])
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--examples", type=int)
    parser.add_argument("--save", type=Path, metavar="FOLDER")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    options = parser.parse_args()
    data = Path(os.environ.get("MINGA_DATA", ROOT.parent / "shared" / "data"))
    if not data.is_dir():
        sys.exit(f"There are no data at {data}; set MINGA_DATA to the folder with the real data.")
    # TensorFlow reads these variables at import.
    os.environ |= ONE_CORE | {"KERAS_BACKEND": "tensorflow"}
    from benchmarks.accuracy.comparison import Setting, compare

    setting = Setting(options.task, options.partition, data, options.rounds, options.examples)
    compared: list[Compared] = []
    for seed in options.seed:
        try:
            compared.append(compare(setting, seed, _note))
        except RuntimeError as error:
            sys.exit(str(error))
        results = report(options.task, compared)
        if options.save:
            _save(results, options.save)
    print(json.dumps(asdict(results)) if options.json else "\n".join(rows(asdict(results))))


def _save(results: Report, folder: Path) -> None:
    """Writes results and curves, and the task's rows into the page named like the folder, if any."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{results.task}.json").write_text(json.dumps(asdict(results)) + "\n", "utf-8")
    (folder / f"{results.task}.svg").write_text(picture(results), "utf-8")
    page = folder.with_suffix(".md")
    if page.is_file():
        page.write_text(with_rows(page.read_text("utf-8"), rows(asdict(results))), "utf-8")


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
