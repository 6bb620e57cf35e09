"""Defines the table [data]: the source of the examples, their split and their preprocessing."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from backend.formats.task_file.types import Number, Positive, Share, TaskTable
from backend.formats.task_file.url_data import UrlData
from backend.numerics.preprocess.declared import Preprocess

# File name endings that both browsers and peers can read.
KINDS: dict[object, tuple[str, ...]] = {
    "image": (".zip", ".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp"),
    "audio": (".zip", ".wav", ".wave"),
    "table": (".csv", ".tsv", ".txt"),
    "text": (".txt", ".md", ".zip", ".csv", ".tsv"),
    "array": (".npz",),
}


class Partition(TaskTable, frozen=True):
    """How `minga shard` partitions the examples among clients, for experiments."""

    kind: Literal["iid", "dirichlet"]
    clients: Annotated[int, Meta(ge=1, le=10_000)]
    alpha: Positive | None = None

    def __post_init__(self) -> None:
        if (self.kind == "dirichlet") != (self.alpha is not None):
            raise ValueError('alpha goes with kind = "dirichlet", which needs it')


class VolunteerData(TaskTable, frozen=True):
    """Limits for volunteers' own data: the number of examples, and the held-out share."""

    minimum: Number = 1
    maximum: Annotated[int, Meta(ge=1, le=1 << 21)] = 100_000
    holdout: Share = 0.1

    def __post_init__(self) -> None:
        if self.minimum > self.maximum:
            raise ValueError("minimum is over maximum, so nobody could take part")


class Data(TaskTable, frozen=True):
    """The examples of a task: shards of the server, volunteers' own data, or files at addresses."""

    source: Literal["shards", "volunteer", "url"]
    shards: str | None = None
    shards_per_client: Number = 1
    holdout: Share = 0.1
    partition: Partition | None = None
    preprocess: Preprocess | None = None
    volunteer: VolunteerData | None = None
    url: UrlData | None = None

    def __post_init__(self) -> None:
        for key, given in (("volunteer", self.volunteer), ("url", self.url)):
            if given is not None and self.source != key:
                raise ValueError(f'{key} goes with source = "{key}"')
        if self.source == "shards":
            if self.shards is None:
                raise ValueError('source = "shards" needs `shards`, the folder of shards.json')
            return
        if self.preprocess is None:
            raise ValueError(f'source = "{self.source}" needs `preprocess`, which says what the files are')
        if self.shards is not None or self.partition is not None:
            raise ValueError('shards and partition go with source = "shards"')
        if self.source == "url":
            self._check_url(self.preprocess)
        elif self.shards_per_client != 1:
            raise ValueError("volunteers train on all of their examples; leave shards_per_client out")

    def _check_url(self, preprocess: Preprocess) -> None:
        if self.url is None:
            raise ValueError('source = "url" needs the table [data.url], which says where the files lie')
        endings = KINDS[preprocess.__struct_config__.tag]
        for file in self.url.files:
            if not file.name.lower().endswith(endings):
                raise ValueError(
                    f"'{file.name}' does not end in {' or '.join(endings)}, which is needed here"
                )

    @property
    def own(self) -> VolunteerData | None:
        """Limits for volunteers' own data; None if the task provides the examples."""
        return (self.volunteer or VolunteerData()) if self.source == "volunteer" else None

    @property
    def comes_from(self) -> str:
        """The provider of public examples, in words for people."""
        return "the server" if self.url is None else " and ".join(self.url.hosts)

    @property
    def brings(self) -> str | None:
        """Kind of data that volunteers bring: `image`, `audio`, `table`, `text` or `array`; None if none."""
        if self.own is None or self.preprocess is None:
            return None
        return str(self.preprocess.__struct_config__.tag)
