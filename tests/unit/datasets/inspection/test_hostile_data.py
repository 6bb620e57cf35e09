"""Hostile and broken data, each with the sentence that its owner reads."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from backend.datasets.inspection.inspect_file import inspect_file
from backend.datasets.inspection.model_input import ModelInput
from backend.errors import DataError
from tests.support.tasks.owner_files import linked, png, zipped

Make = Callable[[Path], Path]


def archive(*members: tuple[str, bytes]) -> Make:
    return lambda folder: zipped(folder / "d.zip", dict(members))


def named(name: str) -> Make:
    return lambda folder: zipped(folder / "d.zip", {name: png(), "cat/1.png": png()})


def content(name: str, what: bytes) -> Make:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(what)
        return folder / name

    return make


def bomb(folder: Path) -> Path:
    members = {"cat/1.png": png(), "dog/1.png": bytes(40 << 20)}
    return zipped(folder / "d.zip", members, zipfile.ZIP_DEFLATED)


def locked(folder: Path) -> Path:
    path = zipped(folder / "d.zip", {"cat/1.png": png(), "dog/1.png": png()})
    whole = bytearray(path.read_bytes())
    for sign, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = 0
        while (start := whole.find(sign, start)) >= 0:
            whole[start + place] |= 1
            start += 4
    path.write_bytes(whole)
    return path


def cut_off(folder: Path) -> Path:
    path = zipped(folder / "d.zip", {"cat/1.png": png(), "dog/1.png": png()})
    path.write_bytes(path.read_bytes()[:-40])
    return path


def damaged(folder: Path) -> Path:
    """Nothing in the zip can be read; what it says of itself is sound."""
    path = zipped(folder / "d.zip", {"cat/1.png": png(), "dog/1.png": png()})
    whole = bytearray(path.read_bytes())
    start = 0
    while (start := whole.find(b"\x89PNG", start)) >= 0:
        whole[start + 60] ^= 0xFF
        start += 4
    path.write_bytes(whole)
    return path


def vast_picture() -> bytes:
    """A PNG that says that it has 60,000 by 60,000 pixels."""
    whole = bytearray(png())
    whole[16:24] = (60_000).to_bytes(4, "big") * 2
    whole[29:33] = zlib.crc32(bytes(whole[12:29])).to_bytes(4, "big")
    return bytes(whole)


def arrays(**some: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Make:
    def make(folder: Path) -> Path:
        np.savez(folder / "d.npz", **some)
        return folder / "d.npz"

    return make


def lying_array(folder: Path) -> Path:
    """Its header says a billion rows, its bytes are few."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f4", "fortran_order": False, "shape": (10**9, 10**3)}
    )  # type: ignore[no-untyped-call]
    return zipped(folder / "d.npz", {"x.npy": header.getvalue() + bytes(64), "y.npy": header.getvalue()})


def no_arrays(folder: Path) -> Path:
    return zipped(folder / "d.npz", {"x": b"abc", "y": b"abc"})


CASES: list[tuple[str, Make, str]] = [
    ("a path out of the folder", named("../../cat/2.png"), "a path outside"),
    ("an absolute path", named("/etc/cat/2.png"), "a path outside"),
    ("a path of Windows", named("C:\\cat\\2.png"), "a path outside"),
    ("a link", lambda folder: linked(folder / "d.zip"), "a link"),
    ("a bomb", bomb, "unpacks to over 200 times its size"),
    ("a locked zip", locked, "encrypted with a password"),
    ("a zip cut off", cut_off, "damaged or not a zip file"),
    ("a zip whose files are damaged", damaged, "None of these pictures can be read"),
    ("an empty zip", archive(), "holds no file"),
    ("only hidden files", archive((".hidden/a", b"x"), ("__MACOSX/b", b"x")), "holds no file"),
    ("programs", archive(("a.exe", b"MZ"), ("b.py", b"print()")), "no pictures, texts or recordings"),
    (
        "pickles",
        archive(("cat/a.pkl", b"\x80\x04"), ("dog/b.pkl", b"\x80\x04")),
        "no pictures, texts or recordings",
    ),
    ("a zip in a zip", archive(("d.zip", b"PK\x03\x04")), "d.zip is packed once more"),
    ("a table in a zip", archive(("d.csv", b"a,b\n1,2\n")), "bring that file itself"),
    ("pictures of one class", archive(("cat/a.png", png()), ("cat/b.png", png())), "not sorted"),
    ("pictures in no folder", archive(("a.png", png()), ("b.png", png())), "not sorted"),
    (
        "pages called pictures",
        archive(("cat/a.png", b"<script>"), ("dog/a.png", b"<svg>")),
        "save it again as PNG",
    ),
    ("vast pictures", archive(("cat/a.png", vast_picture()), ("dog/a.png", vast_picture())), "pixels"),
    ("a table without rows", content("d.csv", b"a,b,c\n"), "no row of examples"),
    ("an empty table", content("d.csv", b"\n\n"), "0 columns"),
    ("a ragged table", content("d.csv", b"a,b\n1,2\n1,2,3\n"), "row 2 has 3 cells"),
    ("two columns of one name", content("d.csv", b"a,a\n1,2\n"), "Two columns have the same name"),
    (
        "a column without a name",
        content("d.csv", b"a,,b\n1,2,3\n"),
        "Two columns have the same name, or one has none",
    ),
    ("a table in another encoding", content("d.csv", b"a,b\n\xff\x81,2\n"), "nor Windows-1252"),
    ("a header in another encoding", content("d.csv", b"\xff\xfea,b\n1,2\n\x00"), "no CSV"),
    ("a quote that never ends", content("d.csv", b'a,b\n"1,2\n3,4\n'), "is no CSV"),
    ("a cell without end", content("d.csv", b"a,b\n" + b"x" * 200_000 + b",2\n"), "is no CSV"),
    (
        "a thousand columns and more",
        content("d.csv", b",".join(b"c%d" % n for n in range(1500))),
        "1500 columns",
    ),
    ("nothing to learn from", content("d.csv", b"k,y\n" + b"same,1\n" * 30), "no column of numbers"),
    ("no Parquet at all", content("d.parquet", b"PAR1" + bytes(40)), "cannot be read"),
    ("a text that is too short", content("d.txt", b"short"), "fewer than one window"),
    ("a text in another encoding", content("d.txt", b"\xff\xfe\x00a" * 100), "UTF-8"),
    (
        "objects in arrays",
        arrays(x=np.array([{}, {}], object), y=np.arange(2)),
        "no numbers|pickle|plain numbers",
    ),
    ("names in arrays", arrays(x=np.array(["a", "b"]), y=np.arange(2)), "holds <U1, no numbers"),
    ("arrays of unlike length", arrays(x=np.ones((3, 2)), y=np.arange(4)), "both need as many"),
    ("a single number", arrays(x=np.array(3.0), y=np.arange(2)), "first axis has to count"),
    ("an array that lies about its size", lying_array, "ends early"),
    ("an npz without arrays", no_arrays, "has 0 arrays"),
    ("an npz cut off", content("d.npz", b"PK\x03\x04" + bytes(50)), "damaged, or no .npz file"),
]


@pytest.mark.parametrize(("make", "sentence"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_hostile_data_get_a_sentence(tmp_path: Path, make: Make, sentence: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(DataError, match=sentence) as told:
        inspect_file(make(tmp_path), ModelInput(), out)
    assert len(str(told.value)) < 600
    assert list(out.iterdir()) == []
