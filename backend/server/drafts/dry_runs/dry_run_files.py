"""Finds the files of a draft that a browser needs for a dry run, by the SHA-256 of their bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from backend.errors import NotFoundError, NotReadyError
from backend.formats.manifest import parse_manifest
from backend.formats.shard_index import INDEX, ShardIndex
from backend.server.drafts.record import Draft
from backend.server.drafts.review.checklist import MADE, fingerprint, holds
from backend.server.sandbox.dry_run import STEP, Rehearsed

MANIFEST, WEIGHTS = "bundle.json", "weights.bin"


class DryRunFiles(Struct, frozen=True):
    """What a browser needs to repeat the server's step: SHA-256 of files, and the server's results.

    `of` is the fingerprint of the server's dry run; `shard` is the first shard of the training data, None if
    volunteers bring their own.
    """

    of: str
    bundle: str
    weights: str
    step: str
    shard: str | None
    loss: float
    gradient_norm: float
    step_ms: float


def dry_run_files(draft: Draft, folder: Path) -> DryRunFiles:
    """Returns the files of the dry run. Raises NotReadyError before the server's own dry run is done."""
    if not holds(draft, "rehearse", folder):
        raise NotReadyError("Take the step on the server first: the dry run (`rehearse`).")
    done = msgspec.convert(draft.jobs["rehearse"].result, Rehearsed)
    bundle = folder / MADE["convert"]
    content = (bundle / MANIFEST).read_bytes()
    weights = parse_manifest(content).files[WEIGHTS].sha256
    index = _index(draft, folder)
    return DryRunFiles(
        fingerprint(draft, "rehearse"),
        hashlib.sha256(content).hexdigest(),
        weights,
        done.step,
        None if index is None else index.train[0].sha256,
        done.step_loss,
        done.gradient_norm,
        done.step_ms,
    )


def dry_run_file(draft: Draft, folder: Path, sha256: str) -> Path:
    """Returns the file with that hash. Raises NotFoundError, or NotReadyError before the server's dry run."""
    for address, path in _files(draft, folder, dry_run_files(draft, folder)):
        if address == sha256:
            return path
    raise NotFoundError("This draft no longer has that file: the model or the data changed. Reload.")


def _files(draft: Draft, folder: Path, dry_run: DryRunFiles) -> Iterator[tuple[str, Path]]:
    bundle, shards = folder / MADE["convert"], folder / MADE["cut"]
    yield dry_run.bundle, bundle / MANIFEST
    yield dry_run.step, folder / MADE["rehearse"] / STEP
    for name, file in parse_manifest((bundle / MANIFEST).read_bytes()).files.items():
        yield file.sha256, bundle / name
    if (index := _index(draft, folder)) is not None:
        yield index.train[0].sha256, shards / index.train[0].file


def _index(draft: Draft, folder: Path) -> ShardIndex | None:
    if not holds(draft, "cut", folder):
        return None
    index = msgspec.json.decode((folder / MADE["cut"] / INDEX).read_bytes(), type=ShardIndex)
    return index if index.train else None
