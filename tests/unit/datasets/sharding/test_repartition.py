"""Shards of a task, written again with a part for each client."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from backend.datasets.sharding.repartition import repartition
from backend.formats.manifest import parse_manifest
from backend.formats.shard_file import decode_shard
from backend.formats.shard_index import check_shards, read_index
from tests.support.tasks.tiny_task import EXAMPLES, SHARDS, write_task


def test_each_part_is_a_shard_of_its_examples_in_their_order(tmp_path: Path) -> None:
    task = write_task(tmp_path / "tiny", holdout=1)
    manifest = parse_manifest((task / "bundle" / "bundle.json").read_bytes())
    order = np.random.default_rng(1).permutation(SHARDS * EXAMPLES)
    parts = [order[:4], order[4:5], order[5:]]
    folder = tmp_path / "new" / "shards"
    repartition(task / "shards", parts, folder, manifest)
    index = check_shards(folder, manifest)
    assert [shard.part for shard in index.train] == [0, 1, 2]
    assert not index.holdout
    source = read_index(task / "shards")
    shards = [decode_shard((task / "shards" / one.file).read_bytes(), manifest) for one in source.train]
    for column in ("x", "y"):
        whole = np.concatenate([getattr(shard, column)[0] for shard in shards])
        for part, written in zip(parts, index.train, strict=True):
            again = decode_shard((folder / written.file).read_bytes(), manifest)
            np.testing.assert_array_equal(getattr(again, column)[0], whole[part])
