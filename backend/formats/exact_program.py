"""Reads exact.json: the hashes of all files that the training worker of the web app reaches.

Clients of the backend `exact` with the same program compute the same bits. A bundle's pins are such a
program, written into bundle.json (docs/reference/bundle.md).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from backend.errors import BundleError
from backend.wire.fields import Hash

EXACT_PROGRAM = "exact.json"
_FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}\Z")]
# The part of a file's name that the build makes of its content.
_HASH_IN_NAME = re.compile(r"-[A-Za-z0-9_-]{8}(?=\.[A-Za-z0-9_]+\Z)")


class ExactProgram(Struct, frozen=True, forbid_unknown_fields=True):
    """The hash of a program, and that of each of its files."""

    program: Hash
    files: Annotated[dict[_FileName, Hash], Meta(min_length=1, max_length=1000)]

    def check(self, where: str) -> None:
        """Raises BundleError if `program` is not the hash of the files."""
        if self.program != program_hash(self.files):
            raise BundleError(f"{where}: the program's hash is not that of its files.")


def program_hash(files: Mapping[str, str]) -> str:
    """Returns the SHA-256 over the sorted lines `NAME SHA256`, without the hashes in names."""
    lines = sorted(f"{_HASH_IN_NAME.sub('', name)} {sha256}\n" for name, sha256 in files.items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def read_exact_program(dist: Path) -> ExactProgram | None:
    """Returns the program of the web app built in `dist`; None without one. Raises BundleError."""
    path = dist / EXACT_PROGRAM
    try:
        program = msgspec.json.decode(path.read_bytes(), type=ExactProgram)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BundleError(f"{path} cannot be read ({error}); run `make build`.") from error
    program.check(f"{path} is damaged; run `make build`")
    return program
