"""The table [data.url]: examples that clients fetch themselves, from a place that is not this server."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from backend.formats.task_file.types import Number, TaskTable

# As much as a browser reads at once.
MOST_BYTES = 512 << 20
# A shard of a default size: enough of them for a small cohort to share out, none too long for a phone.
_SHARDS, _SHARD_EXAMPLES = 16, 1000
MOST_SHARDS = 100_000

Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Path = Annotated[
    str, Meta(max_length=200, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_. -]*(/[A-Za-z0-9_][A-Za-z0-9_. -]*)*\Z")
]
Count = Annotated[int, Meta(ge=0, le=1 << 21)]
# What may stand in a header that lists hosts, and in an address without further thought.
_ADDRESS = re.compile(r"(https?)://([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(:[1-9][0-9]{0,4})?(/[\x21-\x7e]*)")
_LOOPBACK = ("127.0.0.1", "localhost")
_ODD = set("\"'<>\\^`{|}#")


def check_address(address: str) -> str | None:
    """Why clients cannot fetch from `address`; None if they can."""
    found = _ADDRESS.fullmatch(address)
    if found is None or _ODD & set(address) or int((found[3] or ":443")[1:]) > 65535:
        return (
            f"'{address[:120]}' is no address of a file; write it like https://data.example.org/digits.npz, "
            "with the host in small letters and no name or password in it"
        )
    if found[1] == "http" and found[2] not in _LOOPBACK:
        return f"'{address[:120]}' is not encrypted, and pages cannot fetch it; give an https:// address"
    return None


def origin_of(address: str) -> str:
    """Scheme, host and port of an address that was checked."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


class UrlFile(TaskTable, frozen=True):
    """One file: where it lies, and how its bytes are known. `path` places it among several, in its folder."""

    address: Annotated[str, Meta(max_length=2000)]
    sha256: Sha256
    bytes: Annotated[int, Meta(ge=1, le=MOST_BYTES)]
    path: Path | None = None

    def __post_init__(self) -> None:
        problem = check_address(self.address)
        if problem is not None:
            raise ValueError(problem)
        if self.path is None and not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,199}", self.name):
            raise ValueError(f"'{self.address[:120]}' ends in no file's name; give one by `path`")

    @property
    def name(self) -> str:
        """Its path among the files, with `/`."""
        return self.path or urlsplit(self.address).path.rpartition("/")[2]

    @property
    def origin(self) -> str:
        """Scheme, host and port, as headers name them."""
        return origin_of(self.address)


class UrlData(TaskTable, frozen=True):
    """All files, and how many examples are in them: `train` to train on, `held_out` to measure on.

    `fitted` is the preprocess.json that `minga shard --url` wrote, relative to the task file; without it all
    has to be declared.
    """

    files: Annotated[list[UrlFile], Meta(min_length=1, max_length=64)]
    train: Annotated[int, Meta(ge=1, le=1 << 21)]
    held_out: Count = 0
    shard_examples: Number | None = None
    fitted: str | None = None

    def __post_init__(self) -> None:
        if sum(file.bytes for file in self.files) > MOST_BYTES:
            raise ValueError(
                f"the files have over {MOST_BYTES >> 20} MiB together, more than a browser reads; "
                'take a part of them, or source = "shards"'
            )
        names = [file.name for file in self.files]
        if len(set(names)) < len(names):
            raise ValueError("two of the files have one name; place them apart by `path`")
        if len(names) > 1 and any(name.lower().endswith((".zip", ".npz", ".csv", ".tsv")) for name in names):
            raise ValueError("of several files none can be a zip, a table or arrays; make one file of them")
        if self.train > MOST_SHARDS * self.most:
            raise ValueError(f"that makes more than {MOST_SHARDS} shards; raise shard_examples")

    @property
    def most(self) -> int:
        """Examples of a shard at most."""
        return self.shard_examples or max(1, min(_SHARD_EXAMPLES, -(-self.train // _SHARDS)))

    @property
    def origins(self) -> tuple[str, ...]:
        """Where clients fetch from, each once."""
        return tuple(dict.fromkeys(file.origin for file in self.files))

    @property
    def hosts(self) -> tuple[str, ...]:
        """Their names for people, each once."""
        return tuple(dict.fromkeys(origin.partition("://")[2] for origin in self.origins))

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(file.bytes for file in self.files)
