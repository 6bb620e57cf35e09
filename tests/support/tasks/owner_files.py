"""Makes small files of every kind that owners upload, honest and hostile."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image


def png(side: int = 12, seed: int = 0) -> bytes:
    """Returns a picture of noise."""
    pixels = np.random.default_rng(seed).integers(0, 255, (side, side + 3, 3), np.uint8)
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "PNG")
    return content.getvalue()


def zipped(path: Path, members: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    """Writes a zip of `members`."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return path


def zip_bytes(members: Mapping[str, bytes]) -> bytes:
    """Returns a deflated zip of `members`."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in members.items():
            archive.writestr(name, part)
    return content.getvalue()


def linked(path: Path) -> Path:
    """Writes a zip with a link in it."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("cat/1.png", png())
        link = zipfile.ZipInfo("dog/1.png")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    return path


def pictures(path: Path, cats: int = 6, dogs: int = 3) -> Path:
    """Writes a zip of two folders of pictures."""
    members = {f"all/cat/{n}.png": png(seed=n) for n in range(cats)}
    members |= {f"all/dog/{n}.png": png(seed=100 + n) for n in range(dogs)}
    return zipped(path, members)


def npz_of_shape(shape: tuple[int, ...]) -> bytes:
    """Returns an .npz whose arrays x and y say that they have this shape, whatever bytes follow."""
    said = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    header = said + b" " * (-(len(said) + 11) % 64) + b"\n"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64)
    return zip_bytes({"x.npy": array, "y.npy": array})
