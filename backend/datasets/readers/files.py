"""Reads the files of a folder or zip file one by one, without unpacking to disk."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from backend.errors import DataError

MAX_FILES = 5_000_000
# A photo of 64 million pixels has some 30 MB; owners must split longer texts.
MAX_FILE_BYTES = 512 << 20
# Deflate reaches 1,000 on zeros; pictures and texts stay below 50.
MAX_RATIO = 200
_RATIO_MATTERS = 1 << 20


@dataclass(frozen=True)
class Files:
    """File paths separated by `/`, sorted by code points; `read` gives a file's bytes or raises DataError."""

    root: Path
    names: tuple[str, ...]
    read: Callable[[str], bytes]

    def where(self, name: str) -> str:
        """Returns the file's name for people."""
        return f"{self.root}/{name}" if name else str(self.root)

    def ending(self, *suffixes: str) -> Files:
        """Selects the files with these endings. Raises DataError if there are none."""
        names = tuple(name for name in self.names if (name or self.root.name).lower().endswith(suffixes))
        if not names:
            what = ", ".join(suffixes)
            if self.names == ("",):
                raise DataError(f"{self.root} is of another kind: files that end in {what} are needed here.")
            endings = sorted({PurePosixPath(name).suffix or PurePosixPath(name).name for name in self.names})
            shown = ", ".join(endings[:10]) + (" and others" if len(endings) > 10 else "")
            raise DataError(f"{self.root} holds no file that ends in {what}; what it holds ends in {shown}.")
        return Files(self.root, names, self.read)


def folder_of(name: str) -> str:
    """Returns the name of the file's folder, which is its class; empty at the top level."""
    return PurePosixPath(name).parent.name


def list_files(path: Path) -> Files:
    """Lists the files of a folder or zip file, or the single file with an empty name. Raises DataError."""
    try:
        if path.is_dir():
            return _folder(path)
        if path.is_file() and path.suffix.lower() == ".zip":
            return _zip(path)
        if path.is_file():
            return Files(path, ("",), lambda _: _read_bounded(path))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error
    raise DataError(f"There is no file or folder {path}; check the path.")


def _shown(name: str) -> bool:
    return not any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))


def _sorted(path: Path, names: list[str]) -> tuple[str, ...]:
    names = sorted(filter(_shown, names))
    if not names:
        raise DataError(f"{path} holds no file; check the path.")
    if len(names) > MAX_FILES:
        raise DataError(f"{path} holds over {MAX_FILES} files; use a part of them.")
    return tuple(names)


def _folder(path: Path) -> Files:
    names = (
        [
            (Path(folder) / name).relative_to(path).as_posix()
            for folder, _, files in path.walk()
            for name in files
        ]
        if hasattr(path, "walk")
        else [file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()]
    )
    return Files(path, _sorted(path, names), lambda name: _read_bounded(path / name))


def _read_bounded(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise DataError(f"{path} has over {MAX_FILE_BYTES >> 20} MiB; cut it into smaller files.")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error


def _zip(path: Path) -> Files:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError) as error:
        raise DataError(f"{path} is damaged or not a zip file ({error}); create it again.") from error
    members = {item.filename: item for item in archive.infolist() if not item.is_dir()}
    for item in members.values():
        check_member(path, item)
        if item.file_size > MAX_FILE_BYTES:
            raise DataError(
                f"{path}: {item.filename[:80]} has over {MAX_FILE_BYTES >> 20} MiB; "
                "cut it into smaller files."
            )
    return Files(path, _sorted(path, list(members)), lambda name: _member(path, archive, members[name]))


def check_member(path: Path, item: zipfile.ZipInfo) -> None:
    """Raises DataError if a member of the zip at `path` is no plain file below the root, or a zip bomb."""
    name = item.filename
    kind = stat.S_IFMT(item.external_attr >> 16)
    escapes = name.startswith("/") or ".." in name.split("/") or "\\" in name or ":" in name or "\0" in name
    if escapes or kind not in (0, stat.S_IFREG):
        raise DataError(
            f"{path} holds {name[:80]!r}, a link, or a path outside the zip file; zip plain files."
        )
    if item.flag_bits & 1:
        raise DataError(f"{path} is encrypted with a password; create it without one.")
    if item.file_size > _RATIO_MATTERS and item.file_size > MAX_RATIO * max(item.compress_size, 1):
        raise DataError(
            f"{path}: {name[:80]} unpacks to over {MAX_RATIO} times its size, which no data file does."
        )


def _member(path: Path, archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(item) as file:
            content = file.read(item.file_size + 1)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise DataError(f"{path}: {item.filename} is damaged ({error}).") from error
    if len(content) != item.file_size:
        raise DataError(f"{path}: {item.filename} does not have the length given in the zip file.")
    return content
