"""When `minga build` has something to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.commands.build import source_hash

SOURCES = ("task/task.toml", "task/build.py", "task/play.txt", "converter/a.py", "converter/sub/b.py")


@pytest.mark.parametrize("changed", SOURCES)
def test_a_change_anywhere_in_the_sources_asks_for_a_new_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    for name in SOURCES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before")
    monkeypatch.setattr("backend.commands.build.converter_folder", lambda: tmp_path / "converter")
    before = source_hash(tmp_path / "task")
    assert source_hash(tmp_path / "task") == before
    (tmp_path / changed).write_text("after")
    assert source_hash(tmp_path / "task") != before
