"""Makes a version of a task the version 0 of the bundle in its copy."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from backend.errors import BundleError
from backend.formats.file_hash import file_sha256

MANIFEST, WEIGHTS, KERAS = "bundle.json", "weights.bin", "model.keras"


@dataclass(frozen=True)
class ForkedWeights:
    """The version that a copy starts from: its `weights`, and the Keras file with them, if there is one.

    `origin` says in Markdown where the copy comes from.
    """

    weights: Path
    keras: Path | None
    origin: str


def replace_weights(bundle: Path, fork: ForkedWeights) -> None:
    """Puts the weights into the copied `bundle`. Raises BundleError if its manifest is damaged."""
    path = bundle / MANIFEST
    text = path.read_text("utf-8")
    for name, source in ((WEIGHTS, fork.weights), (KERAS, fork.keras)):
        if source is None or not (bundle / name).is_file():
            continue
        target = bundle / name
        target.unlink()
        shutil.copyfile(source, target)
        entry = json.dumps({"sha256": file_sha256(target), "bytes": target.stat().st_size})
        # Replaced in the text, whose first bytes are the pins of an exact bundle.
        text, count = re.subn(rf'("{re.escape(name)}"\s*:\s*)\{{[^{{}}]*\}}', rf"\g<1>{entry}", text)
        if count != 1:
            raise BundleError(f"{path} does not list {name} once; convert the model again.")
    path.write_text(text, "utf-8")
