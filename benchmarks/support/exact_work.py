"""The same training for every engine that benchmarks.exactness compares: files by hash, and plans."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from backend.errors import PeerError
from backend.formats.manifest import Manifest, parse_manifest
from backend.formats.shard_file import StoredArray, StoredShard
from backend.wire.messages import Shard
from benchmarks.steps import bundles
from tests.support.keras.reference_cache import ROOT

# Models of the gallery whose data are shards, and of benchmarks.support.keras_models on random examples.
GALLERY, MADE = ("digits", "text-lstm"), ("mlp", "cnn", "resnet", "gpt")
SEED, EXAMPLES = 7, 64


@dataclass(frozen=True)
class Work:
    """A task's files by address, and the plans that are trained."""

    folder: Path
    bundle: str
    shard: Shard
    weights: Path
    batch_size: int
    learning_rate: float

    def plan(self, steps: int) -> dict[str, Any]:
        """Returns a plan in the worker's words."""
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


def prepare(folder: Path, model: str) -> Work:
    """Copies the files of a model's training into `folder`, under their hashes."""
    folder.mkdir()
    if model in MADE:
        bundle = bundles([model]) / model
        manifest = parse_manifest((bundle / "bundle.json").read_bytes())
        return _work(folder, bundle, _put(folder, _made_shard(manifest)), EXAMPLES)
    built = ROOT / "models" / model / "built"
    if not built.is_dir():
        raise SystemExit(f"{model} is not built here; run `make build` first.")
    index = json.loads((built / "shards" / "shards.json").read_text("utf-8"))["train"][0]
    shard = _put(folder, (built / "shards" / index["file"]).read_bytes())
    return _work(folder, built / "bundle", shard, index["examples"])


def _made_shard(manifest: Manifest) -> bytes:
    """Returns a shard of random examples of a classifier."""
    generator = np.random.default_rng(SEED)
    x = [
        generator.integers(0, 2, (EXAMPLES, *part.shape), np.int32)
        if part.dtype == "int32"
        else generator.uniform(0, 1, (EXAMPLES, *part.shape)).astype(np.float32)
        for part in manifest.inputs
    ]
    y = [
        generator.integers(0, part.classes or 2, (EXAMPLES, *part.shape), np.int32)
        for part in manifest.labels
    ]
    shard = StoredShard("minga-shard/2", EXAMPLES, [_stored(array) for array in x], [_stored(a) for a in y])
    return msgspec.msgpack.encode(shard)


def _stored(array: NDArray[Any]) -> StoredArray:
    return StoredArray(array.dtype.name, list(array.shape), array.tobytes())  # type: ignore[arg-type]


def _work(folder: Path, bundle: Path, shard: str, examples: int) -> Work:
    manifest = parse_manifest((bundle / "bundle.json").read_bytes())
    addresses = {p: _put(folder, p.read_bytes()) for p in bundle.rglob("*") if p.is_file()}
    return Work(
        folder,
        addresses[bundle / "bundle.json"],
        Shard(sha256=shard, examples=examples),
        bundle / "weights.bin",
        manifest.batch_size,
        manifest.optimizer.learning_rate,
    )


def _put(folder: Path, content: bytes) -> str:
    address = hashlib.sha256(content).hexdigest()
    (folder / address).write_bytes(content)
    return address
