"""Training that is only pretended: the right numbers of steps, examples and bytes, and noise for values."""

from __future__ import annotations

import math

import numpy as np

from backend.services.manifest import Manifest
from backend.services.shards import ShardFile
from backend.services.traffic import traffic
from backend.simulation.clients import Update
from backend.wire.messages import Kind, Train

VALUE_BYTES = 4
# Values of an update are at most this far from 0.
REACH = 5e-4


class Pretended:
    """Implements clients.Work. What a client sends is decided by `seed`, the client and the round."""

    def __init__(self, manifest: Manifest, shards: tuple[ShardFile, ...], seed: int) -> None:
        self._manifest = manifest
        self._traffic = traffic(manifest, 0)
        self._bytes = {shard.sha256: shard.bytes for shard in shards}
        self._seed = seed

    def bundle_bytes(self, kind: Kind) -> int:
        """See Work."""
        return self._traffic.peer_bundle if kind == "peer" else self._traffic.browser_bundle

    def steps(self, plan: Train) -> int:
        """See Work."""
        return plan.steps or plan.epochs * math.ceil(_epoch(plan) / plan.batch_size)

    def downloads(self, plan: Train) -> dict[str, int]:
        """See Work."""
        sizes = self._manifest.parameters
        wanted = {plan.weights: VALUE_BYTES * sizes.total}
        if plan.control is not None:
            wanted[plan.control] = VALUE_BYTES * sizes.trainable
        return wanted | {shard.sha256: self._bytes[shard.sha256] for shard in plan.shards}

    def size(self, plan: Train) -> int:
        """See Work."""
        return VALUE_BYTES * self._values(plan)

    def train(self, client: str, plan: Train, steps: int) -> Update:
        """See Work."""
        epochs, rest = divmod(steps, math.ceil(_epoch(plan) / plan.batch_size))
        examples = epochs * _epoch(plan) + min(rest * plan.batch_size, _epoch(plan))
        random = np.random.Generator(np.random.Philox([self._seed, int(client, 16) + plan.round]))
        vector = (random.random(self._values(plan), np.float32) * 2 - 1) * np.float32(REACH)
        rows = sum(metric.rows for metric in self._manifest.metrics)
        loss, right = random.uniform(0.5, 1.5), float(random.binomial(examples, 0.5))
        return Update(vector.astype("<f4").tobytes(), examples, steps, loss, [(right, examples)] * rows)

    def _values(self, plan: Train) -> int:
        sizes = self._manifest.parameters
        return sizes.total + (sizes.trainable if plan.control is not None else 0)


def _epoch(plan: Train) -> int:
    """Examples of one epoch."""
    return sum(shard.examples for shard in plan.shards)
