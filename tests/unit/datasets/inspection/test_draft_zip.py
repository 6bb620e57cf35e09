"""Zips of whole drafts: what is taken from them, and what is not."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from backend.datasets.inspection.draft_zip import unpack
from backend.errors import DataError
from backend.server.drafts.transfer.export_zip import zip_pieces
from tests.support.tasks.owner_files import zip_bytes

MOST = {"model": 2000, "data": 9 << 20}
TASK = b'name = "cats"'


def test_what_was_packed_is_unpacked(tmp_path: Path) -> None:
    model = tmp_path / "model of mine"
    model.write_bytes(bytes(range(200)))
    pieces = zip_pieces("name = 1", "Cats", [("model.keras", model)])
    # What replaces a file while it is sent does no harm.
    model.unlink()
    (tmp_path / "draft.zip").write_bytes(b"".join(pieces))
    assert unpack(tmp_path / "draft.zip", tmp_path, MOST) == ["README.md", "model.keras", "task.toml"]
    assert (tmp_path / "model.keras").read_bytes() == bytes(range(200))
    assert (tmp_path / "README.md").read_text() == "Cats"


def test_a_zip_is_written_in_pieces_that_bound_memory(tmp_path: Path) -> None:
    large = tmp_path / "data"
    large.write_bytes(bytes(5 << 20))
    pieces = list(zip_pieces("", "", [("data.csv", large)]))
    assert len(pieces) == 6
    assert max(map(len, pieces)) < (1 << 20) + 1000


def linked() -> bytes:
    """A zip whose model is a link to a file of the machine."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("task.toml", TASK)
        link = zipfile.ZipInfo("model.keras")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    return target.getvalue()


def locked() -> bytes:
    """A zip that says that it needs a password."""
    content = bytearray(zip_bytes({"task.toml": TASK}))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + place] |= 1
    return bytes(content)


def lying() -> bytes:
    """A zip whose model is a megabyte more than it says."""
    content = bytearray(zip_bytes({"task.toml": TASK, "data.csv": b"1,2\n" * 500_000}))
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = struct.pack("<I", 1000)
    return bytes(content)


HOSTILE: list[tuple[str, Callable[[], bytes], str]] = [
    ("nothing", lambda: b"", "not a zip file"),
    ("half a zip", lambda: zip_bytes({"task.toml": TASK})[:-30], "not a zip file"),
    ("no task file", lambda: zip_bytes({"model.keras": b"x"}), "holds no task.toml"),
    ("a folder around it", lambda: zip_bytes({"cats/task.toml": TASK}), "no part of an exported draft"),
    ("a way out", lambda: zip_bytes({"task.toml": TASK, "../../x": b"x"}), "no part of an exported draft"),
    ("a path of the machine", lambda: zip_bytes({"task.toml": TASK, "/model.keras": b""}), "no part of"),
    ("a path of Windows", lambda: zip_bytes({"task.toml": TASK, "C:\\model.keras": b""}), "no part of"),
    ("a program", lambda: zip_bytes({"task.toml": TASK, "setup.py": b"x"}), "no part of"),
    ("a draft's record", lambda: zip_bytes({"task.toml": TASK, "draft.json": b"{}"}), "no part of"),
    ("a hidden file", lambda: zip_bytes({"task.toml": TASK, ".data.csv": b"{}"}), "no part of"),
    (
        "two models",
        lambda: zip_bytes({"task.toml": TASK, "model.h5": b"", "model.keras": b""}),
        "twice",
    ),
    ("ten thousand parts", lambda: zip_bytes({f"data.{n}": b"" for n in range(10_000)}), "no part of"),
    ("a link", linked, "a link, or a path"),
    ("a password", locked, "password"),
    ("a bomb", lambda: zip_bytes({"task.toml": TASK, "data.csv": bytes(8 << 20)}), "200 times"),
    ("a lie about lengths", lying, "damaged"),
    ("a long task file", lambda: zip_bytes({"task.toml": b"#" * 300_000}), "as much as it may"),
    ("a long model", lambda: zip_bytes({"task.toml": TASK, "model.h5": b"12345" * 500}), "as much as it may"),
]


@pytest.mark.parametrize(("make", "sentence"), [one[1:] for one in HOSTILE], ids=[one[0] for one in HOSTILE])
def test_a_hostile_zip_is_refused(tmp_path: Path, make: Callable[[], bytes], sentence: str) -> None:
    path, folder = tmp_path / "draft.zip", tmp_path / "made"
    path.write_bytes(make())
    folder.mkdir()
    with pytest.raises(DataError, match=sentence):
        unpack(path, folder, MOST)
    written = sum(one.stat().st_size for one in folder.rglob("*"))
    assert written <= sum(MOST.values())
    assert {one.name for one in tmp_path.iterdir()} == {"draft.zip", "made"}
