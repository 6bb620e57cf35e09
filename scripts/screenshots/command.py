"""Takes the pictures of the documentation again: `python -m scripts.screenshots.command`.

A server with the task `digits` runs in a temporary folder; a browser and a TensorFlow peer train on it, an
owner watches the dashboard and prepares a draft. The pictures are written to docs/images, or to
`--into FOLDER`. It needs the built web app and the built task (`make build`), Chromium and TensorFlow.
Exit code 1: a picture is larger than 150 kB.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from playwright.async_api import async_playwright, expect

from scripts.screenshots.camera import Camera
from scripts.screenshots.training import take_training
from scripts.screenshots.wizard import take_wizard
from tests.support.browser.chromium import launch
from tests.support.timeouts import PATIENCE
from tests.support.web.server_process import running
from tests.support.web.visitors import operator

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs/images"
LARGEST = 150_000


async def take(into: Path) -> None:
    """Takes all pictures."""
    expect.set_options(timeout=1000 * PATIENCE)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running(ROOT / "models/digits", folder / "data") as server:
            owner = operator(server)
            async with async_playwright() as playwright:
                camera = Camera(await launch(playwright), server.url, owner.cookies, into)
                await take_training(camera, folder)
                await take_wizard(camera, owner, folder)


def too_large(folder: Path) -> list[str]:
    """Returns a sentence for each picture that makes a page slow to load."""
    sizes = {path.name: path.stat().st_size for path in sorted(folder.glob("*.png"))}
    return [
        f"{name} has {size} bytes, more than {LARGEST}." for name, size in sizes.items() if size > LARGEST
    ]


def main() -> int:
    """Takes the pictures, and says which are too large."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--into", type=Path, default=IMAGES, help="folder for the pictures")
    into = parser.parse_args().into
    into.mkdir(parents=True, exist_ok=True)
    asyncio.run(take(into))
    problems = too_large(into)
    print(*problems, sep="\n", end="\n" if problems else "", file=sys.stderr)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
