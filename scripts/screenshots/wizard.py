"""Takes pictures of an owner's draft: the step of the data, and the review before the launch."""

from __future__ import annotations

import asyncio
import io
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.async_api import Page, expect

from scripts.screenshots.camera import Camera
from tests.support.web.draft_client import Drafter
from tests.support.web.visitors import Visitor, program

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "models/digits/built/model.keras"
OF_A_CLASS = 40
PLAN = {"scheme": "federated", "rounds": 50, "min_available_clients": 2, "deadline": 60}
TRAINING = {
    "batch_size": 32,
    "optimizer": {"name": "adam", "learning_rate": 0.005},
    "loss": {"name": "sparse_categorical_crossentropy"},
    "metrics": ["accuracy"],
}
ABOUT = {
    "title": "Digits of our school",
    "summary": "Learns to read the digits that our pupils write.",
    "licence": {"model": "Apache-2.0", "data": "CC-BY-4.0"},
    "consent": {"basis": "licensed"},
    "ethics": {
        "people": "anonymous",
        "sensitive": False,
        "care": "Nothing else is known of those who wrote the digits.",
        "misuse": "A digit that is misread does harm where nobody looks again.",
        "benefit": "Pupils who want to see a model learn.",
        "contact": "owner@example.org",
    },
}


async def take_wizard(camera: Camera, owner: Visitor, folder: Path) -> None:
    """Prepares a draft as a program does, and opens its steps as its owner."""
    drafter = Drafter(program(owner, "create", "manage"))
    pictures = write_pictures(folder / "digits.zip")
    draft = await asyncio.to_thread(prepare, drafter, pictures)
    page = await camera.open(f"{draft.removeprefix('/api')}/data", signed_in=True, height=1150)
    await ready(page)
    await expect(page.locator("body")).to_contain_text("digits.zip")
    await camera.save(page, "wizard-data")
    # The browser's own step of the dry run, which the review waits for.
    await open_step(page, "trial")
    await expect(page.locator("[data-step=trial]")).to_have_attribute("data-state", "done")
    await open_step(page, "review")
    await expect(page.locator("[data-step=review]")).to_have_attribute("data-state", "done")
    await camera.save(page, "wizard-review")
    await page.context.close()


def write_pictures(path: Path) -> Path:
    """Writes scikit-learn's digits as a zip of folders by class."""
    from sklearn.datasets import load_digits

    pixels, digits = load_digits(return_X_y=True)
    with zipfile.ZipFile(path, "w") as archive:
        for digit in range(10):
            for number, values in enumerate(pixels[digits == digit][:OF_A_CLASS]):
                picture = io.BytesIO()
                Image.fromarray((values.reshape(8, 8) * 15.9).astype(np.uint8)).save(picture, "PNG")
                archive.writestr(f"digits/{digit}/{number}.png", picture.getvalue())
    return path


def prepare(drafter: Drafter, pictures: Path) -> str:
    """Makes a draft whose checks are all done but the browser's; returns its address."""
    draft = drafter.begin("school-digits")
    drafter.upload(draft, "model", "digits.keras", MODEL.read_bytes())
    drafter.upload(draft, "data", "digits.zip", pictures.read_bytes())
    drafter.work(draft, "look")
    task = drafter.send("GET", draft).json["task"]
    task |= ABOUT | {"coordination": PLAN}
    task["model"] |= TRAINING
    task["data"]["preprocess"] |= {"size": [8, 8], "channels": 1}
    drafter.send("PATCH", draft, {"task": task, "readme": "Pictures of 8 by 8 pixels."})
    for kind in ("convert", "cut", "rehearse"):
        job = drafter.work(draft, kind)
        if job["state"] != "done":
            raise RuntimeError(f"{kind}: {job}")
    return draft


async def open_step(page: Page, step: str) -> None:
    """Opens another step of the draft."""
    await page.goto(f"{page.url.rpartition('/')[0]}/{step}")
    await ready(page)


async def ready(page: Page) -> None:
    """Waits until the step's script has begun."""
    await expect(page.locator("[data-step-body]:not([inert])")).to_be_visible()
