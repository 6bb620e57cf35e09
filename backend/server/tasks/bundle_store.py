"""Checks a bundle folder byte by byte and copies it into the blob store."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass
from pathlib import Path

from backend.errors import BundleError
from backend.formats.file_hash import file_sha256
from backend.formats.manifest import Manifest, parse_manifest
from backend.formats.op_allowlist import check_native, check_tfjs
from backend.formats.pins import unpinned
from backend.numerics.aggregation.update_checks import all_finite
from backend.numerics.vectors import from_bytes
from backend.stores.contracts import BlobStore

_MAX_MANIFEST = 16 << 20


@dataclass(frozen=True)
class Bundle:
    """A checked bundle: its folder, its manifest, and the blob address and length of bundle.json.

    `identity` is its address without pins: a task that is pinned to another program continues.
    """

    folder: Path
    manifest: Manifest
    address: str
    manifest_bytes: int
    identity: str

    @property
    def weights(self) -> str:
        """Returns the blob address of version 0."""
        return self.manifest.files["weights.bin"].sha256


async def store_bundle(folder: Path, allowed: frozenset[str], blobs: BlobStore) -> Bundle:
    """Checks the bundle in `folder` and copies it into `blobs`.

    Raises BundleError when a file is missing or differs from its hash, the layout is wrong, version 0 is not
    finite, or a graph uses an op that is not `allowed`.
    """
    manifest = await asyncio.to_thread(check_bundle, folder, allowed)
    for name, file in manifest.files.items():
        if await blobs.put_file(folder / name) != file.sha256:
            raise BundleError(f"{folder / name} changed while it was read; start again.")
    address = await blobs.put_file(folder / "bundle.json")
    content = await asyncio.to_thread((folder / "bundle.json").read_bytes)
    bare = content if manifest.exact is None else unpinned(content, manifest.exact)
    return Bundle(folder, manifest, address, len(content), hashlib.sha256(bare).hexdigest())


def check_bundle(folder: Path, allowed: frozenset[str]) -> Manifest:
    """Checks every file of the bundle in `folder` and returns its manifest. Raises BundleError."""
    try:
        if (folder / "bundle.json").stat().st_size > _MAX_MANIFEST:
            raise BundleError(f"{folder / 'bundle.json'} is over {_MAX_MANIFEST} bytes.")
        manifest = parse_manifest((folder / "bundle.json").read_bytes())
        for name, file in manifest.files.items():
            _check_file(folder / name, file.sha256, file.bytes)
        for signature in manifest.graphs:
            native, browser = f"native/{signature}.pb", f"{signature}/model.json"
            check_native(native, (folder / native).read_bytes(), allowed)
            check_tfjs(browser, (folder / browser).read_bytes(), allowed, manifest.files)
        weights = from_bytes((folder / "weights.bin").read_bytes(), manifest.parameters.total)
    except OSError as error:
        raise BundleError(
            f"The bundle in {folder} cannot be read: {error}. Run `minga convert` first."
        ) from error
    if not all_finite(weights):
        raise BundleError(
            f"{folder / 'weights.bin'} holds NaN or infinity; convert a model with finite weights."
        )
    return manifest


def _check_file(path: Path, sha256: str, size: int) -> None:
    if path.stat().st_size != size or file_sha256(path) != sha256:
        raise BundleError(f"{path} differs from what bundle.json says; convert the model again.")
