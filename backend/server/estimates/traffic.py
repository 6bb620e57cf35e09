"""Computes bytes on the wire: what a participant fetches once, and the traffic of each round."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from backend.formats.manifest import Manifest
from backend.formats.shard_index import ShardFile
from backend.numerics.precision import encoded_size
from backend.protocols.mesh.group_orders import Averages
from backend.protocols.mesh.grouping import choose_exchange

BYTES_PER_VALUE = 4
# A browser loads one of TF.js' three builds for WebAssembly; the one with threads is the largest.
_SMALLER_BUILDS = ("tfjs-backend-wasm-simd", "tfjs-backend-wasm-")
_LARGEST_BUILD = "tfjs-backend-wasm-threaded"


@dataclass(frozen=True)
class Traffic:
    """Bytes of a participant's traffic. `data` is None without shards, `program` without a built web app."""

    browser_bundle: int
    peer_bundle: int
    version_down: int
    update_up: int
    data: int | None
    program: int | None


def traffic(
    manifest: Manifest,
    manifest_bytes: int,
    shards: Sequence[ShardFile] = (),
    shards_per_client: int = 1,
    program: int | None = None,
    averages: Averages | None = None,
) -> Traffic:
    """Returns the traffic of a participant; `data` is that of one round, for shards of average size.

    With `averages` peers average among themselves.
    """
    vector = round_bytes(manifest.parameters.total, averages)
    average = sum(shard.bytes for shard in shards) / len(shards) if shards else None
    return Traffic(
        browser_bundle=manifest_bytes + _files(manifest, "train/", "apply/"),
        peer_bundle=manifest_bytes + _files(manifest, "native/train.pb", "native/apply.pb"),
        version_down=vector,
        update_up=vector,
        data=None if average is None else round(average * min(shards_per_client, len(shards))),
        program=program,
    )


def round_bytes(values: int, averages: Averages | None) -> int:
    """Returns the bytes that a client transfers each way in a round: a version and an update.

    With `averages` they are those to and from the other members of a full group.
    """
    if averages is None:
        return BYTES_PER_VALUE * values
    members, size = averages.group_size, encoded_size(values, averages.precision)
    if choose_exchange(averages.exchange, members, size, averages.reducer) == "full":
        return (members - 1) * size
    return 2 * size * (members - 1) // members


def program_bytes(dist: Path) -> int | None:
    """Returns the compressed bytes that a browser fetches before its first training; None without a build.

    This is the maximum: a browser that tries every backend loads them all.
    """
    manifest = dist / "manifest.json"
    return _program_bytes(dist, manifest.stat().st_mtime_ns) if manifest.is_file() else None


@lru_cache(maxsize=4)
def _program_bytes(dist: Path, _modified: int) -> int:
    return sum(
        len(gzip.compress(path.read_bytes()))
        for path in (dist / "assets").iterdir()
        if path.name.startswith(_LARGEST_BUILD) or not path.name.startswith(_SMALLER_BUILDS)
    )


def _files(manifest: Manifest, *prefixes: str) -> int:
    return sum(file.bytes for name, file in manifest.files.items() if name.startswith(prefixes))
