"""A file takes the cut over, whose one shard of gigabytes the server reads into its own memory afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.errors import BundleError
from backend.numerics.preprocess.declared import DeclaredArrays
from backend.server.sandbox.data_inspection import cut_data
from tests.support.attacks.taken_over import taken_over

MIB = 1 << 20
PROGRAM = """
(made / 'shards').mkdir()
(made / 'shards' / 'shards.json').write_text('{{"train": []}}')
open(made / 'shards' / '{name}', 'wb').truncate({size})
"""


def cut(folder: Path) -> str:
    """Cuts a table of one row."""
    for name in ("d.csv", "bundle.json", "task.toml"):
        (folder / name).write_text("a,b\n1,2\n")
    declared = DeclaredArrays(x=["x"], y=["y"])
    return cut_data(folder / "d.csv", "d.csv", declared, 0.1, folder / "bundle.json", folder / "out")


@pytest.mark.parametrize("name", ["a.shard", "shards.json", "preprocess.json"])
def test_a_vast_shard_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    program = PROGRAM.format(name=name, size=65 * MIB)
    monkeypatch.setattr("sys.executable", taken_over(tmp_path, program))
    with pytest.raises(BundleError, match=f"'{name}' in the result is no plain file, or too long"):
        cut(tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_long_shard_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAM.format(name="a.shard", size=63 * MIB)
    monkeypatch.setattr("sys.executable", taken_over(tmp_path, program))
    assert cut(tmp_path) == "All is well."
