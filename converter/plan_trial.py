"""`python -m converter.plan_trial BUNDLE -o DIR --data FILE --plan FILE`: trains a plan for about a minute.

FILE of data is an .npz with `x_0`, ..., `y_0`, ... to train on and `held_x_0`, ..., `held_y_0`, ... to
measure on. The plan is JSON (`Plan`). DIR/report.json gets the learning curve (`try_plan`). The process
answers on standard output as the converter does.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from converter.native_graph import native_graph
from converter.refusal import Refusal
from converter.sandbox.limited_command import add_limits, enter_sandbox, run_limited

REPORT = "report.json"
# Threads of TensorFlow: the server hosts tasks meanwhile.
_THREADS = 2
_MEASUREMENTS = 8
# A client that began before the deadline may go on for so long.
_GRACE_SECONDS = 20.0

Arrays = Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """A plan: `rounds` of `clients`, each of which visits `part` examples, `epochs` times or for `steps`.

    In a plan of work `units` a round is an epoch and a client a unit; each result is blended into the model,
    which keeps the share `alpha` of itself, or e / (e + 1) in epoch e. The training takes at most `seconds`.
    """

    rounds: int
    clients: int
    part: int
    epochs: int
    steps: int | None
    learning_rate: float
    units: bool
    alpha: float | None
    seconds: float


def main() -> int:
    """Runs the trial that the arguments describe; returns the exit code."""
    parser = argparse.ArgumentParser("python -m converter.plan_trial")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for report.json")
    parser.add_argument("--data", type=Path, required=True, help="examples as .npz")
    parser.add_argument("--plan", type=Path, required=True, help="the plan as JSON")
    add_limits(parser)
    args = parser.parse_args()
    return run_limited(args, "trial of the plan", lambda: _run(args))


def _run(args: argparse.Namespace) -> str:
    bundle, output = args.bundle.resolve(), args.output.resolve()
    data, plan = args.data.resolve(), args.plan.resolve()
    with tempfile.TemporaryDirectory(prefix=".trial-", dir=output) as temporary:
        enter_sandbox([bundle, data, plan], [output], temporary)
        print("doing: Starting TensorFlow.", flush=True)
        _limit_threads()
        report = try_plan(bundle, data, Plan(**json.loads(plan.read_text("utf-8"))))
    (output / REPORT).write_text(json.dumps(report), "utf-8")
    return "The plan was tried."


def _limit_threads() -> None:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(_THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def try_plan(bundle: Path, data: Path, plan: Plan) -> dict[str, Any]:
    """Trains the plan with simulated clients, until it or its time ends. Raises Refusal.

    `curve` has the measurements on the held-out examples: [rounds, loss, accuracy], the first before any
    training; accuracy is None without such a metric.
    """
    import numpy as np

    manifest = json.loads((bundle / "bundle.json").read_text("utf-8"))
    with np.load(data, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    train = {name: array for name, array in arrays.items() if not name.startswith("held_")}
    held = {name[5:]: array for name, array in arrays.items() if name.startswith("held_")}
    trainer = _Trainer(bundle, manifest, train, plan)
    weights = np.fromfile(bundle / "weights.bin", "<f4")
    curve = [[0, *_measured(trainer.measure, manifest, weights, held)]]
    print("doing: Training the plan.", flush=True)
    deadline = time.monotonic() + plan.seconds
    pause = max(1, plan.rounds // _MEASUREMENTS)
    for number in range(1, plan.rounds + 1):
        weights = trainer.round(weights, number, deadline)
        late = time.monotonic() >= deadline
        if number % pause == 0 or number == plan.rounds or late:
            curve.append([number, *_measured(trainer.measure, manifest, weights, held)])
            print(f"doing: Round {number} of {plan.rounds}.", flush=True)
        if late:
            break
    if not all(np.isfinite(np.float64(point[1] or 0.0)) for point in curve):
        raise Refusal(
            "Training this plan ends in numbers that are not finite: lower the learning rate, and scale the "
            "inputs (0 to 1, or mean 0)."
        )
    return {"curve": curve, "of": plan.rounds, "steps": trainer.steps}


class _Trainer:
    """Trains the clients of a plan one after another. Owns the graphs and the order of the examples."""

    def __init__(self, bundle: Path, manifest: Mapping[str, Any], examples: Arrays, plan: Plan) -> None:
        import numpy as np

        self._manifest, self._examples, self._plan = manifest, examples, plan
        self._train, self._apply, self.measure = (
            native_graph(bundle, manifest, name) for name in ("train", "apply", "evaluate")
        )
        self._size: int = manifest["parameters"]["trainable"]
        self._random = np.random.default_rng(0)
        self._order: list[int] = []
        self.steps = 0

    def round(self, weights: Any, number: int, deadline: float) -> Any:
        """Returns the weights after a round, or after the clients that trained before the deadline."""
        keep = self._plan.alpha if self._plan.alpha is not None else number / (number + 1)
        results: list[Any] = []
        for client in range(self._plan.clients):
            if client and time.monotonic() >= deadline:
                break
            trained = self._client(weights, deadline)
            if self._plan.units:
                weights = keep * weights + (1.0 - keep) * trained
            else:
                results.append(trained)
        return weights if self._plan.units else sum(results[1:], results[0]) / len(results)

    def _client(self, weights: Any, deadline: float) -> Any:
        """Returns the weights that a client ends with; one that is late stops half-way."""
        import numpy as np

        manifest, plan = self._manifest, self._plan
        part, batch = self._part(), manifest["batch_size"]
        trainable, state = weights[: self._size], weights[self._size :]
        slots = np.zeros((manifest["optimizer"]["slots"], self._size), np.float32)
        steps = plan.steps or plan.epochs * -(-len(part) // batch)
        for step, rows in zip(range(1, steps + 1), self._batches(part, batch), strict=False):
            feeds = padded(self._examples, rows, batch) | {"trainable": trainable, "state": state}
            feeds |= {
                entry["name"]: self._random.random(entry["shape"], np.float32) for entry in manifest["random"]
            }
            result = self._train(feeds)
            moved = self._apply(
                {
                    **feeds,
                    **{name: result[name] for name in ("gradient", "row_squares") if name in result},
                    "slots": slots,
                    "learning_rate": np.float32(plan.learning_rate),
                    "step": np.float32(step),
                    "past_steps": np.float32(0),
                }
            )
            trainable, slots = moved["new_trainable"], moved.get("new_slots", slots)
            state = result.get("new_state", state)
            self.steps += 1
            if time.monotonic() >= deadline + _GRACE_SECONDS:
                break
        return np.concatenate([trainable, state])

    def _part(self) -> list[int]:
        """Returns the next examples of a shuffled order."""
        count = len(self._examples["x_0"])
        while len(self._order) < self._plan.part:
            self._order += self._random.permutation(count).tolist()
        part, self._order = self._order[: self._plan.part], self._order[self._plan.part :]
        return part

    def _batches(self, part: list[int], batch: int) -> Iterator[list[int]]:
        while True:
            order = self._random.permutation(part).tolist()
            yield from (order[start : start + batch] for start in range(0, len(order), batch))


def padded(examples: Arrays, rows: list[int], batch: int) -> dict[str, Any]:
    """Returns a batch of these rows, filled up with its first one, which then has no weight."""
    import numpy as np

    chosen = [*rows, *[rows[0]] * (batch - len(rows))]
    weight = (np.arange(batch) < len(rows)).astype(np.float32)
    return {name: array[chosen] for name, array in examples.items()} | {"sample_weight": weight}


def _measured(
    measure: Callable[[Arrays], Arrays], manifest: Mapping[str, Any], weights: Any, held: Arrays
) -> list[float | None]:
    """Returns the mean loss and the accuracy on the held-out examples."""
    size, batch = manifest["parameters"]["trainable"], manifest["batch_size"]
    count, loss, right, weighed = len(held["x_0"]), 0.0, 0.0, 0.0
    row = _accuracy_row(manifest["metrics"])
    for start in range(0, count, batch):
        rows = list(range(start, min(count, start + batch)))
        feeds = padded(held, rows, batch) | {"trainable": weights[:size], "state": weights[size:]}
        result = measure(feeds)
        loss += len(rows) * float(result["loss"])
        if row is not None:
            right += float(result["metrics"][row][0])
            weighed += float(result["metrics"][row][1])
    return [loss / count, right / weighed if row is not None and weighed else None]


def _accuracy_row(metrics: list[Mapping[str, Any]]) -> int | None:
    """Returns the row of the first accuracy among the metrics' pairs; None if there is none."""
    row = 0
    for metric in metrics:
        if metric.get("kind", "ratio") == "ratio" and metric["name"] in ("accuracy", "acc"):
            return row
        row += metric.get("rows", 1)
    return None


if __name__ == "__main__":
    raise SystemExit(main())
