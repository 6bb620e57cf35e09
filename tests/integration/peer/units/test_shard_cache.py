from __future__ import annotations

from pathlib import Path

from backend.peer.units.shard_cache import ShardCache

ONE, TWO = "a" * 64, "b" * 64
ADDRESS = "ws://192.0.2.1/api/tasks/digits/socket"


def test_shards_are_remembered_as_long_as_they_are_in_the_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    for name in (ONE, TWO):
        (cache / name).write_bytes(b"shard")
    ShardCache(tmp_path / "shelves", ADDRESS, cache).write([TWO, ONE])
    later = ShardCache(tmp_path / "shelves", ADDRESS, cache)
    assert later.read() == [TWO, ONE]
    (cache / TWO).unlink()
    assert later.read() == [ONE]


def test_each_task_has_its_own_and_a_first_visit_has_none(tmp_path: Path) -> None:
    (tmp_path / ONE).write_bytes(b"shard")
    ShardCache(tmp_path / "shelves", ADDRESS, tmp_path).write([ONE])
    assert ShardCache(tmp_path / "shelves", f"{ADDRESS}/other", tmp_path).read() == []


def test_a_damaged_file_costs_only_what_it_said(tmp_path: Path) -> None:
    (tmp_path / ONE).write_bytes(b"shard")
    shelf = ShardCache(tmp_path / "shelves", ADDRESS, tmp_path)
    shelf.write([ONE])
    (file,) = (tmp_path / "shelves").iterdir()
    for damaged in (b"", b"[1]", b'["../../etc/passwd"]', b"\xff"):
        file.write_bytes(damaged)
        assert shelf.read() == []


def test_a_place_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    ShardCache(tmp_path / "file" / "shelves", ADDRESS, tmp_path).write([ONE])
