"""Defines the table [data.url]: examples that clients fetch from hosts other than this server."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from msgspec import Meta

from backend.formats.task_file.types import Number, TaskTable

# The maximum that a browser reads at a time.
MOST_BYTES = 512 << 20
# Default shard size: enough shards for a small cohort, each small enough for a phone.
_SHARDS, _SHARD_EXAMPLES = 16, 1000
MOST_SHARDS = 100_000

Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Path = Annotated[
    str, Meta(max_length=200, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_. -]*(/[A-Za-z0-9_][A-Za-z0-9_. -]*)*\Z")
]
Count = Annotated[int, Meta(ge=0, le=1 << 21)]
# Addresses that are safe in a header that lists hosts, without any quoting.
_ADDRESS = re.compile(r"(https?)://([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(:[1-9][0-9]{0,4})?(/[\x21-\x7e]*)")
_LOOPBACK = ("127.0.0.1", "localhost")
_ODD = set("\"'<>\\^`{|}#")


def check_address(address: str) -> str | None:
    """Returns why clients cannot fetch from `address`; None if they can."""
    match = _ADDRESS.fullmatch(address)
    if match is None or _ODD & set(address) or int((match[3] or ":443")[1:]) > 65535:
        return (
            f"'{address[:120]}' is no address of a file; write it like https://data.example.org/digits.npz, "
            "with the host in small letters and no name or password in it"
        )
    if match[1] == "http" and match[2] not in _LOOPBACK:
        return f"'{address[:120]}' is not encrypted, and pages cannot fetch it; give an https:// address"
    return None


def origin_of(address: str) -> str:
    """Returns scheme, host and port of a checked address."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


class UrlFile(TaskTable, frozen=True):
    """One file: its address, hash and length. `path` gives its name and folder among several files."""

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
        """Its path among the files, separated by `/`."""
        return self.path or urlsplit(self.address).path.rpartition("/")[2]

    @property
    def origin(self) -> str:
        """Scheme, host and port, in the form of HTTP headers."""
        return origin_of(self.address)


class UrlData(TaskTable, frozen=True):
    """The files, and how many of their examples are for training (`train`) and evaluation (`held_out`).

    `fitted` is the path of the preprocess.json that `minga shard --url` wrote, relative to the task file.
    Without it [data.preprocess] must declare every setting.
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
            raise ValueError("two of the files have the same name; give them different ones by `path`")
        if len(names) > 1 and any(name.lower().endswith((".zip", ".npz", ".csv", ".tsv")) for name in names):
            raise ValueError("of several files none can be a zip, a table or arrays; make one file of them")
        if self.train > MOST_SHARDS * self.most:
            raise ValueError(f"that makes more than {MOST_SHARDS} shards; raise shard_examples")

    @property
    def most(self) -> int:
        """Maximum number of examples in a shard."""
        return self.shard_examples or max(1, min(_SHARD_EXAMPLES, -(-self.train // _SHARDS)))

    @property
    def origins(self) -> tuple[str, ...]:
        """Origins that clients fetch from, without duplicates."""
        return tuple(dict.fromkeys(file.origin for file in self.files))

    @property
    def hosts(self) -> tuple[str, ...]:
        """Host names for people, without duplicates."""
        return tuple(dict.fromkeys(origin.partition("://")[2] for origin in self.origins))

    @property
    def bytes(self) -> int:
        """Total length of all files."""
        return sum(file.bytes for file in self.files)
