"""A preemptible fleet beside a standard one: seconds, dollars, accuracy and work in vain.

Usage: python -m benchmarks.fleet [--machines N] [--epochs N] [--lives NAME] [--mean SECONDS] [--trace FILE]
[--hour SECONDS] [--notice SECONDS] [--standby] [--share SHARE] [--prices FILE] [--instance NAME] [--predict]
[--json]

Two servers with the same task of work units (a small ResNetV2 and images of CIFAR-10 from MINGA_DATA, default
../shared/data) run side by side, each with N processes of `minga peer join`. The machines of one fleet live
by a trace: each is killed at the end of its life, and after a while another one joins as a new client with an
empty cache. Nobody kills those of the other. Each process has a share of a core once it is ready, so that
fewer machines are not faster ones. An hour of the trace lasts --hour seconds, and leases, notices and the
time until a replacement are as much shorter; the start of a peer is not, unless --standby takes most of it
out. Dollars are those of `minga cost` for the hours of the trace: all machines while they were there,
start-up included, and a standard one for the server.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from backend.commands.cost import select_instance
from backend.errors import MingaError, SettingsError
from backend.formats.manifest import parse_manifest
from backend.server.estimates.prices import DEFAULT_PRICES, Prices, read_prices
from benchmarks.fleet.fleet_run import FleetPlan, train
from benchmarks.fleet.lives import DISTRIBUTIONS, life_times
from benchmarks.fleet.prediction import predicted_ratio
from benchmarks.fleet.report import Report, compare, rows
from benchmarks.support.dense_task import ROOT
from benchmarks.support.training_run import ONE_CORE
from benchmarks.vc_asgd.run import TASK


def measure(options: argparse.Namespace, plan: FleetPlan, prices: Prices, data: Path) -> Report:
    """Runs both fleets. Raises RuntimeError when a process fails."""
    # TensorFlow reads these variables at import.
    os.environ |= ONE_CORE | {"KERAS_BACKEND": "tensorflow"}
    from benchmarks.vc_asgd.task import prepare

    with tempfile.TemporaryDirectory(prefix="minga-fleet-") as name:
        folder = Path(name)
        prepared = prepare(data, folder, plan.seed, options.examples, options.rows)
        _note(f"{prepared.units} units of {options.rows} examples an epoch; starting both fleets.")
        task = prepared.tasks / TASK
        manifest = parse_manifest((task / "bundle" / "bundle.json").read_bytes())
        standard, preemptible = train(prepared.tasks, TASK, plan, folder, manifest, _note)
        predicted = None
        _note("Both fleets are done.")
        if options.predict:
            predicted = predicted_ratio(task / "task.toml", plan, standard.record.seconds)
    settings = {
        "cores": len(os.sched_getaffinity(0)),
        "machines": plan.machines,
        "share": plan.share,
        "epochs": plan.epochs,
        "units": prepared.units,
        "examples": prepared.examples,
        "held_out": prepared.held_out,
        "parameters": prepared.parameters,
        "lives": plan.lives.name,
        "hour": plan.lives.hour,
        "notice": plan.notice,
        "standby": plan.standby,
        "seed": plan.seed,
    }
    return compare(settings, standard, preemptible, prices, predicted)


def main(words: list[str] | None = None) -> None:
    options = _parser().parse_args(words)
    try:
        _check(options)
        lives = life_times(options.lives, options.mean, options.trace, options.hour)
        prices = select_instance(read_prices(options.prices), options.instance)
    except MingaError as error:
        sys.exit(str(error))
    data = Path(os.environ.get("MINGA_DATA", ROOT.parent / "shared" / "data"))
    if not data.is_dir():
        sys.exit(f"There are no data at {data}; set MINGA_DATA to the folder with the real data.")
    plan = FleetPlan(
        machines=options.machines,
        epochs=options.epochs,
        lives=lives,
        share=options.share,
        notice=options.notice,
        seed=options.seed,
        limit=options.limit,
        standby=options.standby,
    )
    try:
        report = measure(options, plan, prices, data)
    except (RuntimeError, MingaError) as error:
        sys.exit(str(error))
    print(json.dumps(asdict(report)) if options.json else "\n".join(rows(report)))


def _check(options: argparse.Namespace) -> None:
    """Raises SettingsError for numbers with which nothing can run."""
    for name in ("machines", "epochs", "rows"):
        if getattr(options, name) < 1:
            raise SettingsError(f"--{name} is {getattr(options, name)}; give a number from 1 on.")
    if not 0.0 < options.share <= 1.0:
        raise SettingsError(f"--share is {options.share:g}; give a part of a core, above 0 and at most 1.")
    if options.notice is not None and not 0.0 <= options.notice < math.inf:
        raise SettingsError(f"--notice is {options.notice:g}; give seconds from 0 on, or leave it out.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("--machines", type=int, default=4, metavar="N")
    parser.add_argument("--epochs", type=int, default=40, metavar="N")
    parser.add_argument("--examples", type=int, metavar="N", help="default: the task's 4000")
    parser.add_argument("--rows", type=int, default=100, metavar="N", help="examples of a unit; default 100")
    parser.add_argument("--lives", choices=list(DISTRIBUTIONS), default="exponential")
    parser.add_argument("--mean", type=float, default=3600.0, metavar="SECONDS", help="default: an hour")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="draw lives from this file instead")
    parser.add_argument(
        "--hour",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="of the run in one of the trace; default 60",
    )
    parser.add_argument(
        "--notice", type=float, metavar="SECONDS", help="SIGTERM so long before the end; default: no notice"
    )
    parser.add_argument(
        "--standby", action="store_true", help="replacements load TensorFlow before their lives begin"
    )
    parser.add_argument("--share", type=float, default=0.2, help="of a core for each machine; default 0.2")
    parser.add_argument("--prices", type=Path, default=DEFAULT_PRICES, metavar="FILE")
    parser.add_argument("--instance", metavar="NAME", help="only this machine of the table")
    parser.add_argument("--predict", action="store_true", help="also simulate both fleets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=1200.0, metavar="SECONDS", help="default 1200")
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    return parser


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
