"""The data of a task, checked against its bundle."""

from __future__ import annotations

from pathlib import Path

from backend.errors import BundleError, DataError
from backend.numerics.preprocess.declared import DeclaredArrays, Preprocess
from backend.numerics.preprocess.fitted import Arrays, Fitted, StoredSpec
from backend.numerics.preprocess.fitting import resolve
from backend.services.datasets.fits import check_fits
from backend.services.manifest import Manifest
from backend.services.shards import Shards, store_shards
from backend.services.taskfile import Data
from backend.stores.contracts import Blobs


async def load_data(
    folder: Path, data: Data, manifest: Manifest, blobs: Blobs, clients_measure: bool = False
) -> Shards:
    """What [data] of the task file in `folder` names, checked against the bundle; shards go into `blobs`.

    With `clients_measure` the held-out ones go there, too.

    Raises BundleError or DataError that says what to do.
    """
    check_loading(data, manifest)
    if data.shards is None:
        return Shards((), (), own_data(data.preprocess, manifest))
    shards = await store_shards(folder / data.shards, manifest, blobs, clients_measure)
    if not shards.train:
        raise BundleError(f"{folder / data.shards} has no shard to train on; cut the data again.")
    return shards


def own_data(declared: Preprocess | None, manifest: Manifest) -> Fitted:
    """How volunteers read data of their own. Raises DataError where not all is declared, or does not fit."""
    if isinstance(declared, DeclaredArrays):
        x, y = (
            [StoredSpec(list(one.shape), one.dtype) for one in specs]
            for specs in (manifest.inputs, manifest.labels)
        )
        return Arrays(inputs=x, labels=y, x=declared.x, y=declared.y)
    fitted = None if declared is None else resolve(declared)
    if fitted is None:
        raise DataError(
            "[data.preprocess] leaves something to be learnt from data that nobody has yet. Declare it: "
            "classes, categories, numbers in place of missing ones, tokens. "
            "See docs/reference/preprocessing.md."
        )
    check_fits(fitted, manifest)
    return fitted


def check_loading(data: Data, manifest: Manifest) -> None:
    """Raises BundleError when the bundle was converted with another scale, mean or std."""
    declared = data.preprocess.loading if data.preprocess is not None else (1.0, 0.0)
    if declared != (manifest.preprocess.scale, manifest.preprocess.offset):
        raise BundleError(
            "scale, mean or std of [data.preprocess] are not those that the bundle was made with; convert "
            "the model again."
        )
