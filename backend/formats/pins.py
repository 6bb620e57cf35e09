"""Pins a bundle to the program that computes the same bits everywhere: the member `exact` of bundle.json.

Pins come first in the file, so the bytes without them are unchanged by pinning: a task whose bundle is pinned
continues from its last version.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from backend.errors import BundleError
from backend.formats.exact_program import ExactProgram
from backend.formats.manifest import parse_manifest

MANIFEST = "bundle.json"


def pin_bundle(bundle: Path, program: ExactProgram) -> bool:
    """Pins the bundle in the folder `bundle`; returns whether its pins were others. Raises BundleError."""
    path = bundle / MANIFEST
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BundleError(f"The bundle in {bundle} cannot be read: {error}.") from error
    pins = parse_manifest(content).exact
    if pins == program:
        return False
    bare = content if pins is None else unpinned(content, pins)
    if pins is not None and bare == content:
        raise BundleError(f"The pins of {path} were edited; convert the model again.")
    aside = path.with_name(f".{MANIFEST}")
    aside.write_bytes(b"{" + _member(program) + bare[1:])
    aside.replace(path)
    return True


def unpinned(content: bytes, pins: ExactProgram) -> bytes:
    """Returns bundle.json without `pins`, or `content` if they are not where `pin_bundle` puts them."""
    start = b"{" + _member(pins)
    return b"{" + content[len(start) :] if content.startswith(start) else content


def _member(program: ExactProgram) -> bytes:
    return b'"exact":' + msgspec.json.encode(program, order="sorted") + b","
