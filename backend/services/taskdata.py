"""The data of a task, checked against its bundle."""

from __future__ import annotations

from pathlib import Path

from backend.errors import BundleError
from backend.services.manifest import Manifest
from backend.services.shards import Shards, store_shards
from backend.services.taskfile import Data
from backend.stores.contracts import Blobs


async def load_data(
    folder: Path, data: Data, manifest: Manifest, blobs: Blobs, clients_measure: bool = False
) -> Shards:
    """What [data] of the task file in `folder` names, checked against the bundle; shards go into `blobs`.

    With `clients_measure` the held-out ones go there, too.

    Raises BundleError that says what to do.
    """
    check_loading(data, manifest)
    shards = await store_shards(folder / data.shards, manifest, blobs, clients_measure)
    if not shards.train:
        raise BundleError(f"{folder / data.shards} has no shard to train on; cut the data again.")
    return shards


def check_loading(data: Data, manifest: Manifest) -> None:
    """Raises BundleError when the bundle was converted with another scale, mean or std."""
    declared = data.preprocess.loading if data.preprocess is not None else (1.0, 0.0)
    if declared != (manifest.preprocess.scale, manifest.preprocess.offset):
        raise BundleError(
            "scale, mean or std of [data.preprocess] are not those that the bundle was made with; convert "
            "the model again."
        )
