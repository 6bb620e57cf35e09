"""What the TensorFlow peer makes of a plan: `python -m tests.e2e.browser.peer_plan BUNDLE PLAN UPDATE
SHARD...`.

PLAN is JSON as the worker gets it, but `control` is a list of two files, the server's variate and the
client's own; `weights` may name a file too. The update, and after it the change of the client's variate if
it has one, goes into the file UPDATE, the rest is printed, and with it what the weights that the plan begins
with make of the same examples.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from backend.peer.data.shards import join_shards, read_shard
from backend.peer.training.graphs import import_graphs, open_bundle
from backend.peer.training.measurer import VersionMeasurer
from backend.peer.training.private_step import ExampleClip
from backend.peer.training.step import never, read_totals
from backend.peer.training.trainer import Control, Trainer, TrainingPlan


def main() -> None:
    bundle, plan, update, *shards = sys.argv[1:]
    names = open_bundle(Path(bundle), ()).manifest.graphs
    graphs = import_graphs(open_bundle(Path(bundle), names), "cpu")
    asked = json.loads(plan)
    control, privacy = asked["control"], asked["privacy"]
    weights = np.fromfile(asked.get("weights", Path(bundle) / "weights.bin"), "<f4")
    examples = join_shards([read_shard(Path(shard).read_bytes(), graphs.manifest) for shard in shards])
    result = Trainer(graphs).train(
        weights,
        TrainingPlan(
            epochs=asked["epochs"],
            learning_rate=asked["learningRate"],
            seed=asked["seed"],
            steps=asked["steps"],
            batch_size=asked["batchSize"],
            proximal_mu=asked["proximalMu"],
            control=Control(*(np.fromfile(path, "<f4") for path in control)) if control else None,
            privacy=ExampleClip(**privacy) if privacy else None,
        ),
        examples,
        never,
        lambda _: None,
    )
    change = b"" if result.change is None else result.change.astype("<f4").tobytes()
    Path(update).write_bytes(result.content() + change)
    measured = read_totals(VersionMeasurer(graphs).totals(weights, examples, never))
    done = {"loss": result.loss, "examples": result.examples, "steps": result.steps, "sums": result.sums}
    print(json.dumps({**done, "measured": measured}))


if __name__ == "__main__":
    main()
