"""Loads a task's data and checks them against its bundle."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from backend.datasets.model_fit import check_fits
from backend.errors import BundleError, DataError
from backend.formats.manifest import Manifest
from backend.formats.shard_index import ShardFile
from backend.formats.task_file import Data, UrlData
from backend.numerics.partition import Half, data_key, part_name, part_sizes
from backend.numerics.preprocess.declared import DeclaredArrays, Preprocess
from backend.numerics.preprocess.fitted import Arrays, Fitted, StoredSpec, parse_fitted
from backend.numerics.preprocess.fitting import resolve
from backend.server.tasks.shard_store import Shards, store_shards
from backend.stores.contracts import BlobStore


async def load_data(
    folder: Path, data: Data, manifest: Manifest, blobs: BlobStore, clients_measure: bool = False
) -> Shards:
    """Checks the data that [data] of the task file in `folder` names; copies the shards into `blobs`.

    With `clients_measure` the held-out shards are copied, too.

    Raises BundleError or DataError that says what to do.
    """
    check_loading(data, manifest)
    if data.url is not None:
        fitted = await asyncio.to_thread(_url_preprocess, folder, data, manifest)
        return url_shards(data.url, fitted, clients_measure)
    if data.shards is None:
        return Shards((), (), own_data(data.preprocess, manifest))
    shards = await store_shards(folder / data.shards, manifest, blobs, clients_measure)
    if not shards.train:
        raise BundleError(f"{folder / data.shards} has no shard to train on; cut the data again.")
    return shards


def url_data_summary(data: Data) -> dict[str, Any] | None:
    """Describes to clients the data that they fetch from a URL (docs/reference/http.md); None without."""
    url = data.url
    if url is None:
        return None
    keys = ("address", "sha256", "bytes", "name")
    return {
        "files": [{key: getattr(file, key) for key in keys} for file in url.files],
        "train": url.train,
        "held_out": url.held_out,
        "holdout": data.holdout,
        "shard_examples": url.most,
    }


def url_shards(url: UrlData, fitted: Fitted, clients_measure: bool) -> Shards:
    """Returns the parts of data that clients fetch from a URL, by the names that both sides derive."""
    key = data_key([file.sha256 for file in url.files])
    each = url.bytes // (url.train + url.held_out)

    def parts(half: Half, examples: int) -> tuple[ShardFile, ...]:
        sizes = part_sizes(examples, url.most) if examples else []
        names = (part_name(key, half, number) for number in range(len(sizes)))
        return tuple(
            ShardFile(name, name, size, size * each) for name, size in zip(names, sizes, strict=True)
        )

    measured = parts("held-out", url.held_out) if clients_measure else ()
    return Shards(parts("train", url.train), (), fitted, measured, from_url=True)


def _url_preprocess(folder: Path, data: Data, manifest: Manifest) -> Fitted:
    """Returns the preprocessing of data that clients fetch from a URL. Raises BundleError or DataError."""
    if data.url is None or data.url.fitted is None:
        return own_data(data.preprocess, manifest)
    path = folder / data.url.fitted
    try:
        fitted = parse_fitted(path.read_bytes())
    except OSError as error:
        raise BundleError(
            f"{path} cannot be read: {error.strerror}. Make it by `minga shard --url`."
        ) from error
    check_fits(fitted, manifest)
    return fitted


def own_data(declared: Preprocess | None, manifest: Manifest) -> Fitted:
    """Returns the preprocessing of volunteers' own data. Raises DataError if it is incomplete or unfit."""
    if isinstance(declared, DeclaredArrays):
        _check_arrays(declared, manifest)
        x, y = (
            [StoredSpec(list(spec.shape), spec.dtype) for spec in specs]
            for specs in (manifest.inputs, manifest.labels)
        )
        return Arrays(inputs=x, labels=y, x=declared.x, y=declared.y)
    fitted = None if declared is None else resolve(declared)
    if fitted is None:
        raise DataError(
            "[data.preprocess] needs values learnt from data that nobody has yet. Declare them: "
            "classes, categories, numbers in place of missing ones, tokens. "
            "See docs/reference/preprocessing.md."
        )
    check_fits(fitted, manifest)
    return fitted


def _check_arrays(declared: DeclaredArrays, manifest: Manifest) -> None:
    for word, names, specs in (
        ("inputs", declared.x, manifest.inputs),
        ("labels", declared.y, manifest.labels),
    ):
        if len(names) != len(specs):
            raise DataError(
                f"[data.preprocess] names the arrays {', '.join(names) or 'none'} as {word}, and the model "
                f"takes {', '.join(spec.name for spec in specs) or 'none'}; name as many."
            )


def check_loading(data: Data, manifest: Manifest) -> None:
    """Raises BundleError if the bundle was converted with another scale, mean or std."""
    declared = data.preprocess.loading if data.preprocess is not None else (1.0, 0.0)
    if declared != (manifest.preprocess.scale, manifest.preprocess.offset):
        raise BundleError(
            "scale, mean or std of [data.preprocess] are not those that the bundle was made with; convert "
            "the model again."
        )
