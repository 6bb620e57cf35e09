"""Shortens the model of a simulated task: a short vector represents a long one."""

from __future__ import annotations

import dataclasses
import hashlib

import msgspec
import numpy as np

from backend.formats.manifest import ParameterCounts
from backend.server.tasks.task import Task
from backend.stores.contracts import BlobStore


async def shortened(task: Task, blobs: BlobStore, values: int) -> Task:
    """Returns the task with at most so many `values` as parameters; a shortened vector is all zeros."""
    manifest = task.bundle.manifest
    if manifest.parameters.total <= values:
        return task
    parameters = ParameterCounts(trainable=values, state=0)
    zeros = np.zeros(values, "<f4").tobytes()
    address = await blobs.put(zeros)
    assert address == hashlib.sha256(zeros).hexdigest()  # noqa: S101 - the address is defined as the hash.
    weights = msgspec.structs.replace(manifest.files["weights.bin"], sha256=address, bytes=len(zeros))
    shortened_task = msgspec.structs.replace(
        manifest, parameters=parameters, files={**manifest.files, "weights.bin": weights}
    )
    return dataclasses.replace(
        task,
        bundle=dataclasses.replace(task.bundle, manifest=shortened_task),
        zero_control=address if task.zero_control else None,
    )
