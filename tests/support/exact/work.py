"""The same training for every engine that is compared: files by hash, and plans."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from backend.errors import PeerError
from backend.formats.manifest import parse_manifest
from backend.peer.training.trainer import TrainingPlan
from backend.wire.messages import Shard

SEED = 7


@dataclass(frozen=True)
class Work:
    """A task's files by address, and the plans that are trained."""

    folder: Path
    bundle: str
    shard: Shard
    weights: Path
    batch_size: int
    learning_rate: float

    def plan(self, steps: int) -> TrainingPlan:
        """Returns the plan of a peer."""
        return TrainingPlan(
            epochs=0, steps=steps, learning_rate=self.learning_rate, seed=SEED, batch_size=self.batch_size
        )

    def page_plan(self, steps: int) -> dict[str, Any]:
        """Returns the same plan in the words of a page's worker."""
        return {
            "seed": SEED,
            "epochs": 0,
            "steps": steps,
            "batchSize": self.batch_size,
            "learningRate": self.learning_rate,
            "pastSteps": 0,
            "proximalMu": 0.0,
            "control": None,
            "privacy": None,
            "protection": None,
            "until": None,
            "shards": [self.shard.sha256],
            "unit": None,
        }

    async def get(self, sha256: str, at_most: int = 0) -> bytes:
        """Returns a file, as a peer's cache does."""
        del at_most
        path = self.folder / sha256
        if not path.is_file():
            raise PeerError(f"There is no blob {sha256}.")
        return path.read_bytes()


def store_work(folder: Path, bundle: Path, shard: bytes) -> Work:
    """Copies a bundle's files and a shard into `folder`, under their hashes."""
    folder.mkdir(exist_ok=True)
    manifest = parse_manifest((bundle / "bundle.json").read_bytes())
    addresses = {path: _put(folder, path.read_bytes()) for path in bundle.rglob("*") if path.is_file()}
    return Work(
        folder,
        addresses[bundle / "bundle.json"],
        Shard(sha256=_put(folder, shard), examples=msgspec.msgpack.decode(shard)["examples"]),
        bundle / "weights.bin",
        manifest.batch_size,
        manifest.optimizer.learning_rate,
    )


def _put(folder: Path, content: bytes) -> str:
    address = hashlib.sha256(content).hexdigest()
    (folder / address).write_bytes(content)
    return address
