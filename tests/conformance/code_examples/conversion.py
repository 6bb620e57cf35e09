"""Converts code examples: `python -m tests.conformance.code_examples.conversion [AREA | AREA:EXAMPLE ...]`.

Prints a line of JSON for each: the worst difference from Keras, or the sentence with which it was refused.
What is refused for own code is converted again with the file of that code, as the sentence says.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras

from converter.bundle.bundle_writer import write_bundle
from converter.conversion_task import ConversionTask
from converter.refusal import Refusal
from converter.sandbox.process_limits import Limits
from tests.conformance.code_examples import generative, pictures, recommender, text, timeseries, vision

AREAS: dict[str, dict[str, Any]] = {
    "vision": vision.EXAMPLES | pictures.EXAMPLES,
    "text": text.EXAMPLES,
    "timeseries": timeseries.EXAMPLES,
    "recommender": recommender.EXAMPLES,
    "generative": generative.EXAMPLES,
}
BATCH_SIZE = 8
_FUTURE = "from __future__ import annotations\n"


def converted(area: str, name: str) -> dict[str, Any]:
    """Returns what becomes of an example: `worst`, `refused`, or `failed` where neither came of it."""
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    told = {"area": area, "example": name}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        AREAS[area][name]().save(folder / "model.keras")
        try:
            return told | _checked(folder)
        except Refusal as refusal:
            return told | {"refused": str(refusal)}
        except Exception as error:  # the third state, which must not be
            return told | {"failed": f"{type(error).__name__}: {error}"[:300]}


def _checked(folder: Path) -> dict[str, Any]:
    try:
        return _bundle(folder, "plain", None) | {"own": False}
    except Refusal as refusal:
        if "--custom" not in str(refusal):
            raise
    return _bundle(folder, "custom", own_code(folder)) | {"own": True}


def _bundle(folder: Path, name: str, custom: Path | None) -> dict[str, Any]:
    (folder / name).mkdir()
    task = ConversionTask("example", BATCH_SIZE)
    manifest = write_bundle(folder / "model.keras", task, folder / name, Limits(), custom)
    return {key: manifest["checked"][key] for key in ("worst", "rounding")}


def own_code(folder: Path) -> Path:
    """Writes the own layers and the own training of all examples as one file, and returns its path."""
    parts = [
        Path(__file__).with_name(name).read_text("utf-8") for name in ("own_layers.py", "own_training.py")
    ]
    file = folder / "own_code_of_examples.py"
    file.write_text(_FUTURE + "".join(part.replace(_FUTURE, "") for part in parts), "utf-8")
    return file


def chosen(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yields area and name of the examples that the command line names; all of them without any."""
    for word in words or AREAS:
        area, _, name = word.partition(":")
        yield from ((area, one) for one in ([name] if name else AREAS[area]))


def main() -> None:
    for area, name in chosen(sys.argv[1:]):
        print(json.dumps(converted(area, name)), flush=True)


if __name__ == "__main__":
    main()
