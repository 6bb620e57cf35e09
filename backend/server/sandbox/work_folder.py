"""Handles the folder that a sandboxed process writes into: its size, what is taken out of it, its removal.

A hostile file may have taken the process over, so the folder can hold anything: pipes, links, folders without
end, names that are no text. All of this is for the time after the process, but for `tree_bytes`, which may
run beside it.
"""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from backend.errors import BundleError

# No honest result has more folders within folders, or more files.
MAX_DEPTH, MAX_ENTRIES = 32, 300_000
# A file takes at least so much of a disk, whatever its length.
_ENTRY_BYTES, _BLOCK_BYTES = 4096, 512
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Characters that no UTF-8 has, and those that a terminal obeys.
_NO_TEXT = ("Cs", "Cc")
_REMEDY = "The file that was read may hold an attack: do not use it, and tell the server's operator."


def plain_text(text: str) -> str:
    """Returns what a process or a file's name says as text that can be stored, sent and printed.

    Lone surrogates become U+FFFD, and so do control characters except line ends and tabs.
    """
    return "".join(
        "\ufffd" if unicodedata.category(one) in _NO_TEXT and one not in "\n\t" else one for one in text
    )


@contextmanager
def work_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Yields a new folder in `parent`, and removes it with all that a process left in it."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent)).resolve()
    try:
        yield folder
    finally:
        remove_tree(folder)


def tree_bytes(folder: Path, counts: Callable[[Path], bool] = lambda _path: True) -> int:
    """Returns the bytes of disk below `folder`, of those in it that `counts` accepts.

    Raises BundleError for folders too deep or too many files.
    """
    total = entries = 0
    places = [(folder, 0)]
    while places:
        place, depth = places.pop()
        for path, state in _entries(place):
            if depth == 0 and not counts(path):
                continue
            entries += 1
            total += max(state.st_size, state.st_blocks * _BLOCK_BYTES, _ENTRY_BYTES)
            if stat.S_ISDIR(state.st_mode):
                places.append((path, depth + 1))
            if entries > MAX_ENTRIES or depth > MAX_DEPTH:
                raise BundleError(f"The work on the file creates too many files. {_REMEDY}")
    return total


def check_results(folder: Path, depth: int, largest: int) -> None:
    """Raises BundleError unless `folder` is one, with files of at most `largest` bytes.

    They may lie in folders within it, `depth` deep.
    """
    if not stat.S_ISDIR(_state(folder).st_mode):
        raise BundleError(f"The result is not a folder. {_REMEDY}")
    places = [(folder, 0)]
    while places:
        place, level = places.pop()
        for path, state in _entries(place):
            if stat.S_ISDIR(state.st_mode) and level < depth:
                places.append((path, level + 1))
            else:
                _check_file(path, state, largest)


def check_result(path: Path, largest: int) -> None:
    """Raises BundleError unless `path` is a file, and no link to one, of at most `largest` bytes."""
    _check_file(path, _state(path), largest)


def read_result(path: Path, largest: int) -> bytes:
    """Reads a file of a result. Raises BundleError unless it is a plain file of at most `largest` bytes."""
    try:
        # A pipe would block the thread until somebody writes into it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise BundleError(
            f"{_quoted(path)} of the result cannot be read ({error.strerror}). {_REMEDY}"
        ) from error
    try:
        _check_file(path, os.fstat(descriptor), largest)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(largest + 1)
    finally:
        os.close(descriptor)


def remove_tree(folder: Path) -> None:
    """Removes a folder, also one with folders that are unreadable or nested without end. Raises OSError.

    Folders within folders are moved up before they are emptied: neither the stack nor a path gets long.
    """
    folder.chmod(0o700)
    top = os.open(folder, _FOLDER_FLAGS)
    try:
        while names := _names(top):
            for name in names:
                if not _unlinked(name, top):
                    _empty_into(top, name)
    finally:
        os.close(top)
    folder.rmdir()


def _empty_into(top: int, name: str) -> None:
    """Removes the folder `name` of `top`, and moves the folders in it into `top`."""
    child = os.open(name, _FOLDER_FLAGS, dir_fd=top)
    try:
        for entry in _names(child):
            if not _unlinked(entry, child):
                os.rename(entry, secrets.token_hex(16), src_dir_fd=child, dst_dir_fd=top)
    finally:
        os.close(child)
    os.rmdir(name, dir_fd=top)


def _unlinked(name: str, folder: int) -> bool:
    """Removes an entry unless it is a folder, which it makes readable; returns whether it is gone."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=folder)
        return True
    os.chmod(name, 0o700, dir_fd=folder)
    return False


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _entries(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yields what lies in a folder, without what vanishes meanwhile. Raises BundleError if unreadable."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    yield Path(entry.path), entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
    except FileNotFoundError:
        return
    except OSError as error:
        raise BundleError(f"A result cannot be read ({error.strerror}). {_REMEDY}") from error


def _state(path: Path) -> os.stat_result:
    try:
        return path.lstat()
    except OSError as error:
        raise BundleError(f"The result lacks {_quoted(path)} ({error.strerror}). {_REMEDY}") from error


def _check_file(path: Path, state: os.stat_result, largest: int) -> None:
    if not stat.S_ISREG(state.st_mode) or state.st_size > largest:
        raise BundleError(f"{_quoted(path)} in the result is no plain file, or too long. {_REMEDY}")


def _quoted(path: Path) -> str:
    return f"'{plain_text(path.name[:80])}'"
