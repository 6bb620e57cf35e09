"""What the build says of the program that computes the same bits everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from backend.errors import BundleError
from backend.formats.exact_program import EXACT_PROGRAM, program_hash, read_exact_program

FILES = {"main-C-VJGGjG.js": "a" * 64, "shared-CLna57ZH.wasm": "b" * 64}


def write(dist: Path, **changes: object) -> None:
    content = {"program": program_hash(FILES), "files": FILES} | changes
    (dist / EXACT_PROGRAM).write_text(json.dumps(content), "utf-8")


def test_the_program_of_a_build_is_read(tmp_path: Path) -> None:
    write(tmp_path)
    program = read_exact_program(tmp_path)
    assert program is not None
    assert (program.program, program.files) == (program_hash(FILES), FILES)


def test_where_no_web_app_is_built_there_is_no_program(tmp_path: Path) -> None:
    assert read_exact_program(tmp_path) is None


def test_hashes_in_names_and_the_order_do_not_matter() -> None:
    renamed = {"shared-00000000.wasm": "b" * 64, "main-___-_-__.js": "a" * 64}
    assert program_hash(renamed) == program_hash(FILES)


def test_contents_and_other_parts_of_names_matter() -> None:
    assert program_hash(FILES | {"main-C-VJGGjG.js": "c" * 64}) != program_hash(FILES)
    assert program_hash({"main.js": "a" * 64}) != program_hash({"other.js": "a" * 64})
    # Two files of one name are not taken for one.
    assert program_hash({"a-00000000.js": "a" * 64, "a-11111111.js": "a" * 64}) != program_hash(
        {"a-00000000.js": "a" * 64}
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"program": "0" * 64},
        {"files": FILES | {"more.js": "c" * 64}},
        {"files": {}},
        {"files": {"../a.js": "a" * 64}},
    ],
)
def test_a_damaged_file_is_refused_with_what_mends_it(tmp_path: Path, changes: dict[str, object]) -> None:
    write(tmp_path, **changes)
    with pytest.raises(BundleError, match="make build"):
        read_exact_program(tmp_path)
