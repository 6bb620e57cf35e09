"""What the TensorFlow peer makes of a plan: `python -m tests.browser.peer_plan BUNDLE PLAN UPDATE SHARD...`.

PLAN is JSON as the worker gets it; the update goes into the file UPDATE, the rest is printed as JSON.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import numpy as np

from backend.peer.graphs import import_graphs, open_bundle
from backend.peer.shards import read_shard
from backend.peer.trainer import Plan, Trainer


def main() -> None:
    bundle, plan, update, *shards = sys.argv[1:]
    graphs = import_graphs(open_bundle(Path(bundle), ("train", "apply")), "cpu")
    asked = json.loads(plan)
    result = Trainer(graphs).train(
        np.fromfile(Path(bundle) / "weights.bin", "<f4"),
        Plan(epochs=asked["epochs"], learning_rate=asked["learningRate"], seed=asked["seed"]),
        [read_shard(Path(shard).read_bytes(), graphs.manifest) for shard in shards],
        threading.Event(),
        lambda _: None,
    )
    result.update.astype("<f4").tofile(update)
    print(json.dumps({"loss": result.loss, "examples": result.examples, "sums": result.sums}))


if __name__ == "__main__":
    main()
