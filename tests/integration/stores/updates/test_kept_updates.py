"""Updates of a task's last rounds on disk: bounded, whole or gone, and never of other rounds."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.stores.updates.kept_rounds import KeptOutcome
from backend.stores.updates.kept_updates import KeptUpdateFolders, KeptUpdates

SIZE, CLIENTS = 1000, 3
ROW = 4 * SIZE
MANY = 1 << 30


def update(number: int, client: int) -> NDArray[np.float32]:
    return np.random.default_rng([number, client]).normal(size=SIZE).astype(np.float32)


def play(kept: KeptUpdates, number: int, clients: int = CLIENTS, version: int | None = None) -> None:
    """Keeps a round that made version `number`, by default of the one before."""
    for client in range(clients):
        kept.add(update(number, client), f"client{client}", 2.0 + client)
    base = number - 1 if version is None else version
    kept.keep(KeptOutcome(run=1, round=number, version=base, made=number))


def numbers(kept: KeptUpdates) -> list[int]:
    return [round.round for round in kept.rounds]


def opened(
    folder: Path, rounds: int = 3, most: int = MANY, versions: Sequence[int] = range(100)
) -> KeptUpdates:
    kept = KeptUpdates(folder, rounds, most)
    kept.open(1, versions)
    return kept


def on_disk(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def test_the_last_rounds_are_kept_bit_for_bit_with_clients_and_weights(tmp_path: Path) -> None:
    kept = opened(tmp_path / "tiny")
    for number in range(1, 6):
        play(kept, number)
    assert numbers(kept) == [3, 4, 5]
    assert kept.versions == {2, 3, 4, 5}
    assert kept.total_bytes == on_disk(tmp_path / "tiny")
    assert [(one.client, one.weight) for one in kept.rounds[0].updates] == [
        ("client0", 2.0),
        ("client1", 3.0),
        ("client2", 4.0),
    ]
    rows = kept.open_rows()
    play(kept, 6)  # Round 3 is deleted, and its rows are readable until they are closed.
    for client, row in enumerate(rows[0].rows):
        np.testing.assert_array_equal(row[0:SIZE], update(3, client))
    for one in rows:
        one.close()


def test_only_the_server_may_read_the_files(tmp_path: Path) -> None:
    kept = opened(tmp_path / "tiny")
    play(kept, 1)
    (path,) = (tmp_path / "tiny").iterdir()
    assert stat.S_IMODE((tmp_path / "tiny").stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_bound_holds_at_every_moment_and_the_oldest_round_goes_first(tmp_path: Path) -> None:
    most = 8 * ROW
    kept = opened(tmp_path / "tiny", most=most)
    for number in range(1, 5):
        for client in range(CLIENTS):
            kept.add(update(number, client), f"client{client}", 1.0)
            assert on_disk(tmp_path / "tiny") <= most
        kept.keep(KeptOutcome(run=1, round=number, version=number - 1, made=number))
        assert on_disk(tmp_path / "tiny") <= most
    assert numbers(kept) == [3, 4]


def test_a_round_over_the_bound_is_not_kept_and_the_problem_says_so_until_one_is(tmp_path: Path) -> None:
    kept = opened(tmp_path / "tiny", most=4 * ROW)
    play(kept, 1, clients=5)
    assert numbers(kept) == []
    assert kept.problem.startswith("The updates of round 1 were not kept: its 5 updates take 0.0191 MiB")
    assert on_disk(tmp_path / "tiny") == 0
    play(kept, 2)
    assert (numbers(kept), kept.problem) == ([2], "")


def test_rounds_that_are_not_kept_delete_older_ones_in_time(tmp_path: Path) -> None:
    kept = opened(tmp_path / "tiny", rounds=2, most=4 * ROW)
    play(kept, 1, clients=1)
    play(kept, 2, clients=1)
    assert numbers(kept) == [1, 2]
    play(kept, 3, clients=5)
    assert numbers(kept) == []  # The open round needed their room.
    roomy = opened(tmp_path / "roomy", rounds=2)
    play(roomy, 1)
    roomy.discard()
    roomy.keep(KeptOutcome(run=1, round=2, version=1, made=2))
    assert numbers(roomy) == [1]
    roomy.keep(KeptOutcome(run=1, round=3, version=2, made=3))
    assert numbers(roomy) == []


def test_an_abandoned_round_leaves_nothing(tmp_path: Path) -> None:
    kept = opened(tmp_path / "tiny")
    play(kept, 1)
    kept.add(update(2, 0), "client0", 1.0)
    kept.discard()
    play(kept, 3, version=1)
    assert numbers(kept) == [1, 3]
    assert len(kept.rounds[1].updates) == CLIENTS


def test_after_a_restored_version_only_rounds_from_it_count(tmp_path: Path) -> None:
    kept = opened(tmp_path / "tiny")
    play(kept, 1)
    play(kept, 2)
    play(kept, 4)  # Version 3 was restored.
    assert numbers(kept) == [4]


def test_a_restart_keeps_whole_rounds_of_this_run_and_deletes_the_rest(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    kept = opened(folder)
    for number in range(1, 4):
        play(kept, number)
    kept.add(update(4, 0), "client0", 1.0)  # Open when the server is killed.
    assert numbers(opened(folder)) == []  # Of version 99 they are not the last.
    kept.discard()
    kept = opened(folder, versions=range(4))
    for number in range(1, 4):
        play(kept, number)
    kept.add(update(4, 0), "client0", 1.0)
    again = opened(folder, versions=range(4))
    assert numbers(again) == [1, 2, 3]
    assert not (folder / "open").exists()
    kept.discard()
    assert numbers(opened(folder, rounds=2, versions=range(4))) == [2, 3]
    assert numbers(opened(folder, versions=[0, 1, 3])) == []  # Version 2 has no files.
    other = KeptUpdates(folder, 3, MANY)
    play(opened(folder, versions=range(1)), 1)
    other.open(2, range(2))
    assert (numbers(other), list(folder.iterdir())) == ([], [])


@pytest.mark.parametrize("cut", [1, 9, 100, ROW, 3 * ROW + 10**6])
def test_a_file_that_was_cut_is_deleted(tmp_path: Path, cut: int) -> None:
    kept = opened(tmp_path / "tiny")
    play(kept, 1)
    (path,) = (tmp_path / "tiny").iterdir()
    path.write_bytes(path.read_bytes()[:-cut])
    assert numbers(opened(tmp_path / "tiny", versions=range(2))) == []
    assert list((tmp_path / "tiny").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_a_problem_and_no_error(tmp_path: Path) -> None:
    (tmp_path / "tiny").write_text("a file")
    kept = opened(tmp_path / "tiny")
    assert kept.problem.startswith("Kept updates cannot be read")
    play(kept, 1)
    assert numbers(kept) == []
    assert "the disk did not take them" in kept.problem


def test_what_is_kept_of_a_task_goes_with_it(tmp_path: Path) -> None:
    folders = KeptUpdateFolders(tmp_path)
    for name in ("tiny", "other", "third"):
        play(opened(folders.of_task(name)), 1)
    folders.forget("tiny")
    folders.forget("tiny")
    assert not folders.of_task("tiny").exists()
    folders.sweep({"third"})
    assert [path.name for path in tmp_path.iterdir()] == ["third"]
    KeptUpdateFolders(tmp_path / "nowhere").sweep(())
