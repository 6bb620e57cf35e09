"""The map of both languages in docs/explanation/architecture.md names what there is."""

from __future__ import annotations

import re

import pytest

from tests.integration.docs.test_docs import ROOT

PAGE = (ROOT / "docs/explanation/architecture.md").read_text("utf-8")
MAP = PAGE.partition("## Map of both languages")[2].partition("\n## ")[0]
ROWS = [line.split(" | ") for line in MAP.splitlines() if line.startswith("| ") and "`" in line]
PATHS = sorted(set(re.findall(r"`([a-z]+/[^`]*)`", MAP)))
SOURCES = "webapp/static/src"


@pytest.mark.parametrize("path", PATHS)
def test_every_path_of_the_map_exists(path: str) -> None:
    place = ROOT / path
    assert place.is_dir() if path.endswith("/") else place.is_file()


def test_every_row_names_python_typescript_and_what_binds_them() -> None:
    assert len(ROWS) >= 15
    for part, _python, typescript, binding in ROWS:
        assert SOURCES in typescript, part
        assert len(binding) > len(" |"), part


@pytest.mark.parametrize("folder", ["backend/protocols", f"{SOURCES}/protocol", f"{SOURCES}/client"])
def test_the_map_has_every_folder_of_machines_and_clients(folder: str) -> None:
    inside = {f"{folder}/{path.name}/" for path in (ROOT / folder).iterdir() if path.is_dir()}
    # Browsers neither replay units nor keep tasks; the pages' ends of workers are in the rows of the workers.
    one_sided = {"backend/protocols/__pycache__/", "backend/protocols/replay/", "backend/protocols/tasks/"}
    assert inside - one_sided - {f"{SOURCES}/client/workers/"} <= set(PATHS)


def test_every_folder_of_the_floors_exists() -> None:
    floors = PAGE.partition("## Floors")[2].partition("\n## ")[0]
    for folder in re.findall(r"^\| `([^`]+)` \|", floors, re.MULTILINE):
        assert (ROOT / "backend" / folder).exists(), folder
