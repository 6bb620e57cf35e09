"""Defines the jobs of the sandboxed process that reads data, one job per process."""

from __future__ import annotations

from msgspec import Struct

from backend.datasets.inspection.model_input import ModelInput
from backend.numerics.preprocess.declared import Preprocess

FINDINGS, SHOWN, SHARDS, MEASURED = "findings.json", "shown.json", "shards", "shape.json"


class LookJob(Struct, tag="look"):
    """Inspects the file `data`, which its owner calls `name`; findings are written to `folder`."""

    data: str
    name: str
    folder: str
    wanted: ModelInput


class CutJob(Struct, tag="cut"):
    """Cuts the file `data` into shards in `folder`, for the model of the `manifest`.

    `strict` fails on broken examples instead of skipping them: clients that read the file themselves would
    number the examples differently. At most `most_told` skipped examples are reported. `max_bytes` limits
    what is written.
    """

    data: str
    name: str
    folder: str
    manifest: str
    declared: Preprocess
    holdout: float
    strict: bool = False
    max_bytes: int | None = None
    most_told: int = 10


class ShowJob(Struct, tag="show"):
    """Previews the preprocessing of some examples of the file `data`, for the model of `manifest`, if any."""

    data: str
    name: str
    folder: str
    manifest: str | None
    declared: Preprocess
    holdout: float


class MeasureJob(Struct, tag="measure"):
    """Measures the shape of preprocessed examples of the file `data`, for a model that is to fit them."""

    data: str
    name: str
    folder: str
    declared: Preprocess
    holdout: float


class UnpackJob(Struct, tag="unpack"):
    """Unpacks the zip `data` of a draft to `folder`; `most` limits the bytes of its model and data."""

    data: str
    name: str
    folder: str
    most: dict[str, int]


class PictureJob(Struct, tag="picture"):
    """Prepares the picture in the file `data` for a task; its pixels are written to `folder`."""

    data: str
    name: str
    folder: str


Job = LookJob | CutJob | ShowJob | MeasureJob | UnpackJob | PictureJob
