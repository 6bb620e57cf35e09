"""Simulates the training of work units: correct steps, examples and bytes, with noise as values."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from backend.formats.manifest import Manifest, ParameterCounts
from backend.formats.shard_index import ShardFile
from backend.server.estimates.traffic import traffic
from backend.simulation.client_work import SimulatedUpdate
from backend.simulation.synthetic_training import REACH, VALUE_BYTES
from backend.wire.messages import Kind
from backend.wire.unit_messages import Unit


class SyntheticUnits:
    """Makes results of noise, determined by a unit's seed and steps, so that honest replicas agree.

    `sent` gives the length of the vectors that are really sent, if these are shorter than the model's.
    """

    def __init__(
        self, manifest: Manifest, shards: tuple[ShardFile, ...], sent: ParameterCounts | None = None
    ) -> None:
        self._manifest = manifest
        self._sent = sent or manifest.parameters
        self._traffic = traffic(manifest, 0)
        self._bytes = {shard.sha256: shard.bytes for shard in shards}
        self._rows = sum(metric.rows for metric in manifest.metrics)
        # Replicas are trained by several clients, mostly soon after one another.
        self._noise = lru_cache(maxsize=256)(self._make_noise)

    @property
    def vector_bytes(self) -> int:
        """Bytes of the model's vector."""
        return VALUE_BYTES * self._manifest.parameters.total

    def bundle_bytes(self, kind: Kind) -> int:
        """Returns the bytes that a client of this kind downloads before its first unit."""
        return self._traffic.peer_bundle if kind == "peer" else self._traffic.browser_bundle

    def downloads(self, unit: Unit) -> dict[str, int]:
        """Returns address and size in bytes of all downloads needed before the first step."""
        return {unit.weights: self.vector_bytes, unit.shard.sha256: self._bytes[unit.shard.sha256]}

    def steps(self, unit: Unit) -> int:
        """Returns the number of steps of a unit."""
        return unit.steps or unit.epochs * math.ceil(unit.examples / unit.batch_size)

    def result(self, unit: Unit, steps: int) -> SimulatedUpdate:
        """Returns the result of the first `steps` steps of a unit."""
        passes, rest = divmod(steps, math.ceil(unit.examples / unit.batch_size))
        examples = passes * unit.examples + min(rest * unit.batch_size, unit.examples)
        vector, loss = self._noise(unit.seed, steps)
        return SimulatedUpdate(vector, examples, steps, loss, [(examples / 2, float(examples))] * self._rows)

    def _make_noise(self, seed: int, steps: int) -> tuple[bytes, float]:
        random = np.random.Generator(np.random.Philox([seed, steps]))
        vector = (random.random(self._sent.total, np.float32) * 2 - 1) * np.float32(REACH)
        return vector.astype("<f4").tobytes(), random.uniform(0.5, 1.5)
