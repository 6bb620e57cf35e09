"""Simulates training: correct numbers of steps, examples and bytes, with noise as values."""

from __future__ import annotations

import copy
import math

import numpy as np

from backend.formats.manifest import Manifest, ParameterCounts
from backend.formats.shard_index import ShardFile
from backend.numerics.masking.bit_packing import masked_bytes
from backend.numerics.masking.sparse import chosen_values
from backend.peer.rounds.masking_host import MaskedModel
from backend.server.estimates.traffic import traffic
from backend.simulation.client_work import MeasurementFindings, SimulatedUpdate
from backend.wire.masked_messages import Masking
from backend.wire.messages import Evaluate, Kind, Sums, Train

VALUE_BYTES = 4
# Maximum absolute value in an update.
REACH = 5e-4


class SyntheticTraining:
    """Makes updates of noise, determined by `seed`, client and round. Implements WorkModel.

    `sent` gives the lengths of the vectors that are really sent, if these are shorter than the model's: each
    of their bytes then counts for several, so transfers take as long as with the model's own vectors.
    """

    def __init__(
        self,
        manifest: Manifest,
        shards: tuple[ShardFile, ...],
        seed: int,
        sent: ParameterCounts | None = None,
    ) -> None:
        self._manifest = manifest
        self._sent = sent or manifest.parameters
        self._traffic = traffic(manifest, 0)
        self._bytes = {shard.sha256: shard.bytes for shard in shards}
        self._seed = seed
        self._own = 0, 0
        self._rows = sum(metric.rows for metric in manifest.metrics)

    def with_examples(self, examples: int, held_out: int) -> SyntheticTraining:
        """Returns a copy for a client with its own examples, for training and held out."""
        copied = copy.copy(self)
        copied._own = examples, held_out
        return copied

    def bundle_bytes(self, kind: Kind) -> int:
        """See WorkModel."""
        return self._traffic.peer_bundle if kind == "peer" else self._traffic.browser_bundle

    def steps(self, plan: Train) -> int:
        """See WorkModel."""
        return plan.steps or plan.epochs * math.ceil(self._epoch(plan) / plan.batch_size)

    def evaluation_steps(self, evaluation: Evaluate) -> int:
        """See WorkModel."""
        return math.ceil(self._epoch(evaluation) / self._manifest.batch_size)

    def downloads(self, order: Train | Evaluate) -> dict[str, int]:
        """See WorkModel."""
        sizes = self._manifest.parameters
        sizes_by_address = {order.weights: VALUE_BYTES * sizes.total}
        if isinstance(order, Train) and order.control is not None:
            sizes_by_address[order.control] = VALUE_BYTES * sizes.trainable
        return sizes_by_address | {shard.sha256: self._bytes[shard.sha256] for shard in order.shards}

    def model(self) -> MaskedModel:
        """See WorkModel."""
        return MaskedModel(self._sent.total, self._rows)

    def size(self, masking: Masking | None) -> int:
        """See WorkModel."""
        if masking is not None:
            sent = chosen_values(self._manifest.parameters.total, masking.share)
            return masked_bytes(sent, self._rows, masking.bits)
        return VALUE_BYTES * self._manifest.parameters.total

    def train(self, client: str, plan: Train, steps: int) -> SimulatedUpdate:
        """See WorkModel."""
        epochs, remaining_steps = divmod(steps, math.ceil(self._epoch(plan) / plan.batch_size))
        examples = epochs * self._epoch(plan) + min(remaining_steps * plan.batch_size, self._epoch(plan))
        random = self._random(client, plan.round)
        vector = (random.random(self._sent.total, np.float32) * 2 - 1) * np.float32(REACH)
        loss, sums = self._figures(random, examples)
        return SimulatedUpdate(vector.astype("<f4").tobytes(), examples, steps, loss, sums)

    def measure(self, client: str, evaluation: Evaluate) -> MeasurementFindings:
        """See WorkModel."""
        examples = self._epoch(evaluation)
        return MeasurementFindings(
            examples, *self._figures(self._random(client, -evaluation.round), examples)
        )

    def keep(self, client: str, number: int, *, undo: bool) -> None:
        """Does nothing: noise has no control variate."""

    def _random(self, client: str, number: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox([self._seed, int(client, 16) + number]))

    def _figures(self, random: np.random.Generator, examples: int) -> tuple[float, Sums]:
        loss, right = random.uniform(0.5, 1.5), float(random.binomial(examples, 0.5))
        return loss, [(right, float(examples))] * self._rows

    def _epoch(self, order: Train | Evaluate) -> int:
        """Returns the examples of one epoch: those of the shards, or else the client's own."""
        if order.shards:
            return sum(shard.examples for shard in order.shards)
        return self._own[isinstance(order, Evaluate)]
