"""Mounts small disks for tests, where the system allows it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.plugins.requirements import require


def mount(*words: str) -> None:
    """Runs `mount ...`, which needs root. Skips the test without mounts."""
    require("mounts")
    subprocess.run(["mount", *words], check=True)


def unmount(place: Path) -> None:
    """Removes the newest mount on `place`, in use or not."""
    subprocess.run(["umount", "--lazy", place], check=True)


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """Mounts a disk of `size` (`2m`) in memory at `place`."""
    place.mkdir()
    mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place))
    try:
        yield place
    finally:
        unmount(place)


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Makes the folder `place` read-only by a mount."""
    mount("--bind", str(place), str(place))
    try:
        mount("-o", "remount,bind,ro", str(place))
        yield
    finally:
        unmount(place)
