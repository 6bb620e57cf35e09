"""Builds a starter model in a sandboxed process: the server itself does not import Keras."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from backend.errors import BundleError
from backend.server.sandbox.conversion import ConversionLimits
from backend.server.sandbox.converter_process import converter_process
from backend.server.sandbox.limited_process import UNSUPERVISED, Supervision
from backend.server.sandbox.work_folder import check_result, work_folder

LIMITS = ConversionLimits(wall_seconds=300.0, cpu_seconds=200, memory_bytes=8 << 30)
_FILE = "starter.keras"


def build_starter(
    name: str,
    shape: Mapping[str, Any],
    output: Path,
    supervision: Supervision = UNSUPERVISED,
) -> int:
    """Builds the starter model `name` for the `shape` (converter/starter_models) as the new file `output`.

    Returns its number of parameters. Raises BundleError with a remedy, CancelledError, what the supervision
    raises, and SettingsError without TensorFlow.
    """
    converter = converter_process(LIMITS, supervision)
    with work_folder(output.parent, ".build-") as home:
        arguments = [name, json.dumps(shape), "-o", str(home / _FILE)]
        remedy = "choose another starter"
        message = converter.run("Building the model", remedy, "converter.starter_models", arguments, home)
        check_result(home / _FILE, LIMITS.file_bytes)
        if not (message.isascii() and message.isdecimal()):
            raise BundleError("The number of the model's parameters cannot be read; build it again.")
        (home / _FILE).replace(output)
    return int(message)
