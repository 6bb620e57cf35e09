"""What a process that reads data is asked for, one job a process."""

from __future__ import annotations

from msgspec import Struct

from backend.datasets.inspection.model_input import ModelInput
from backend.numerics.preprocess.declared import Preprocess

FINDINGS, SHOWN, SHARDS = "findings.json", "shown.json", "shards"


class LookJob(Struct, tag="look"):
    """Looks at the file `data`, which its owner calls `name`; findings go into `folder`."""

    data: str
    name: str
    folder: str
    wanted: ModelInput


class CutJob(Struct, tag="cut"):
    """Cuts the file `data` into shards in `folder`, for the model of the `manifest`.

    `strict` leaves nothing out that is broken: clients that read the file themselves would number it
    otherwise.
    """

    data: str
    name: str
    folder: str
    manifest: str
    declared: Preprocess
    holdout: float
    strict: bool = False
    most_told: int = 10


class ShowJob(Struct, tag="show"):
    """Shows what becomes of some examples of the file `data`, for the model of the `manifest`, if any."""

    data: str
    name: str
    folder: str
    manifest: str | None
    declared: Preprocess
    holdout: float


class UnpackJob(Struct, tag="unpack"):
    """Takes the zip `data` of a draft apart into `folder`; `most` are bytes of its model and data."""

    data: str
    name: str
    folder: str
    most: dict[str, int]


Job = LookJob | CutJob | ShowJob | UnpackJob
