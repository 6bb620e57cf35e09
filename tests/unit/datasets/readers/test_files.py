"""Zip files are read, never believed."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

from backend.datasets.readers.files import folder_of, list_files
from backend.errors import DataError


def archive(path: Path, name: str, content: bytes, mode: int = stat.S_IFREG | 0o644) -> Path:
    item = zipfile.ZipInfo(name)
    item.external_attr = mode << 16
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(item, content, zipfile.ZIP_DEFLATED)
    return path


@pytest.mark.parametrize("name", ["../a.png", "/a.png", "a/../../b.png", "c:a.png", "a\\b.png"])
def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="a path outside"):
        list_files(archive(tmp_path / "a.zip", name, b"x"))


def test_a_link_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a link"):
        list_files(archive(tmp_path / "a.zip", "a.png", b"/etc/passwd", stat.S_IFLNK | 0o777))


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="times its size"):
        list_files(archive(tmp_path / "a.zip", "a.png", bytes(4 << 20)))


def test_a_damaged_member_is_named_when_it_is_read(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.zip", "red/a.png", b"pixels" * 100)
    content = bytearray(path.read_bytes())
    content[45] ^= 0xFF
    path.write_bytes(content)
    files = list_files(path)
    with pytest.raises(DataError, match=r"red/a.png"):
        files.read("red/a.png")


def test_a_file_that_is_no_zip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"no zip")
    with pytest.raises(DataError, match="not a zip file"):
        list_files(tmp_path / "a.zip")


def test_files_come_in_the_order_of_code_points(tmp_path: Path) -> None:
    for name in ("b.txt", "B.txt", "é.txt", "a/z.txt", ".hidden/a.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    files = list_files(tmp_path)
    assert files.names == ("B.txt", "a/z.txt", "b.txt", "é.txt")
    assert files.read("a/z.txt") == b"a/z.txt"
    assert [folder_of(name) for name in files.names] == ["", "a", "", ""]
