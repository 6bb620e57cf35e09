"""A bundle is pinned to a program, and to another one, without beginning anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backend.errors import BundleError
from backend.formats.exact_program import ExactProgram, program_hash
from backend.formats.manifest import parse_manifest
from backend.formats.pins import pin_bundle, unpinned
from tests.support.tasks.tiny_task import write_task


def program_of(**hashes: str) -> ExactProgram:
    files = {f"{name}.js": sign * 64 for name, sign in hashes.items()}
    return ExactProgram(program_hash(files), files)


ONE, OTHER = program_of(main="a", kernels="b"), program_of(main="a", kernels="c")


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_task(tmp_path / "tiny") / "bundle"


def test_pins_are_written_and_read(bundle: Path) -> None:
    assert pin_bundle(bundle, ONE)
    assert parse_manifest((bundle / "bundle.json").read_bytes()).exact == ONE


def test_pinning_to_the_same_program_changes_nothing(bundle: Path) -> None:
    pin_bundle(bundle, ONE)
    before = (bundle / "bundle.json").read_bytes()
    assert not pin_bundle(bundle, ONE)
    assert (bundle / "bundle.json").read_bytes() == before


def test_without_its_pins_a_bundle_is_what_it_was_before_however_often_it_was_pinned(bundle: Path) -> None:
    before = (bundle / "bundle.json").read_bytes()
    for program in (ONE, OTHER):
        assert pin_bundle(bundle, program)
    pinned = (bundle / "bundle.json").read_bytes()
    assert pinned != before
    assert unpinned(pinned, OTHER) == before


def test_pins_that_were_edited_are_refused(bundle: Path) -> None:
    pin_bundle(bundle, ONE)
    path = bundle / "bundle.json"
    content = json.loads(path.read_text("utf-8"))
    content["exact"]["files"]["kernels.js"] = "d" * 64
    path.write_text(json.dumps(content), "utf-8")
    with pytest.raises(BundleError, match=r"pins of bundle\.json were edited.*convert"):
        pin_bundle(bundle, OTHER)


def test_pins_at_another_place_are_not_guessed_at(bundle: Path) -> None:
    pin_bundle(bundle, ONE)
    path = bundle / "bundle.json"
    path.write_text(json.dumps(dict(reversed(json.loads(path.read_text("utf-8")).items()))), "utf-8")
    with pytest.raises(BundleError, match="were edited"):
        pin_bundle(bundle, OTHER)
