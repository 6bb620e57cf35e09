"""The pictures of the documentation are those of one command, are small, and are shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.screenshots.command import IMAGES, ROOT, too_large
from tests.support.timeouts import HEAVY

PICTURES = {path.name for path in IMAGES.iterdir()}


def test_every_picture_is_shown_and_small() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {
        name for page in pages for name in re.findall(r"images/([\w-]+\.png)\)", page.read_text("utf-8"))
    }
    assert shown == PICTURES
    assert too_large(IMAGES) == []


def test_a_large_picture_is_reported(tmp_path: Path) -> None:
    (tmp_path / "wide.png").write_bytes(bytes(150_001))
    assert too_large(tmp_path) == ["wide.png has 150001 bytes, more than 150000."]


@pytest.mark.long
@pytest.mark.browser
@pytest.mark.tensorflow
@pytest.mark.timeout(HEAVY)
def test_the_command_takes_every_picture(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scripts.screenshots.command", "--into", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=HEAVY)
    assert {path.name for path in tmp_path.iterdir()} == PICTURES
