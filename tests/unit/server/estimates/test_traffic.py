"""What a participant fetches and sends."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from backend.formats.manifest import parse_manifest
from backend.formats.shard_index import ShardFile
from backend.protocols.mesh.group_orders import Averages
from backend.server.estimates.traffic import Traffic, program_bytes, round_bytes, traffic
from tests.support.protocols.mesh_coordinator import AVERAGES
from tests.support.tasks.tiny_task import SIGNATURES, SIZE, manifest

FILES = {"weights.bin": bytes(4 * SIZE), "train/group1-shard1of1.bin": bytes(7)}
FILES |= {f"{name}/model.json": bytes(100 + number) for number, name in enumerate(SIGNATURES)}
FILES |= {f"native/{name}.pb": bytes(200 + number) for number, name in enumerate(SIGNATURES)}
MANIFEST = parse_manifest(json.dumps(manifest(FILES, 0)).encode())


def shard(size: int) -> ShardFile:
    return ShardFile("a.shard", "0" * 64, 5, size)


def test_only_the_graphs_of_a_step_are_counted() -> None:
    assert traffic(MANIFEST, 1000) == Traffic(
        browser_bundle=1000 + 100 + 7 + 101,
        peer_bundle=1000 + 200 + 201,
        version_down=4 * SIZE,
        update_up=4 * SIZE,
        data=None,
        program=None,
    )


def test_a_round_brings_shards_of_average_size() -> None:
    shards = [shard(10), shard(20), shard(60)]
    assert traffic(MANIFEST, 1000, shards, shards_per_client=2).data == 60
    assert traffic(MANIFEST, 1000, shards, shards_per_client=50).data == 90


def test_programs_are_counted_compressed_with_one_build_for_webassembly(tmp_path: Path) -> None:
    assert program_bytes(tmp_path) is None
    (tmp_path / "assets").mkdir()
    names = ["train-1.js", "tfjs-backend-wasm-2.wasm", "tfjs-backend-wasm-simd-3.wasm"]
    names += ["tfjs-backend-wasm-threaded-simd-4.wasm"]
    for name in names:
        (tmp_path / "assets" / name).write_bytes(name.encode() * 1000)
    (tmp_path / "manifest.json").write_text("{}")
    needed = [names[0], names[3]]
    assert program_bytes(tmp_path) == sum(len(gzip.compress(name.encode() * 1000)) for name in needed)


@pytest.mark.parametrize(
    ("averages", "moved"),
    [
        (None, 4_000_000),
        (replace(AVERAGES, group_size=4), 2 * 2_000_000 * 3 // 4),
        (replace(AVERAGES, group_size=4, exchange="full"), 3 * 2_000_000),
        (replace(AVERAGES, precision="float32", exchange="ring"), 2 * 4_000_000 * 7 // 8),
        (replace(AVERAGES, precision="masked", exchange="butterfly"), 2 * 4_000_000 * 7 // 8),
    ],
)
def test_what_a_round_moves_depends_on_who_adds_up(averages: Averages | None, moved: int) -> None:
    assert round_bytes(1_000_000, averages) == moved
