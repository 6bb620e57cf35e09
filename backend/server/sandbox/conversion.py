"""Runs the converter in a separate, limited process: the server itself does not import TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, to_builtins

from backend.errors import BundleError
from backend.formats.exact_program import ExactProgram
from backend.formats.pins import pin_bundle
from backend.formats.task_file.types import Measures
from backend.server.sandbox.converter_process import converter_process
from backend.server.sandbox.limited_process import UNSUPERVISED, ProcessLimits, Supervision
from backend.server.sandbox.work_folder import check_result, check_results, read_result, work_folder

PROPOSED_BYTES = 1 << 16
MANIFEST, MANIFEST_BYTES = "bundle.json", 64 << 20
# A bundle has a folder for each signature.
_BUNDLE_DEPTH = 2


class Proposed(Struct, frozen=True):
    """Proposed keys of [model] that neither the owner nor the compiled model sets; None if they are set."""

    loss: Measures | None = None
    metrics: list[Measures] | None = None
    optimizer: dict[str, str | float] | None = None

    def tables(self) -> dict[str, Any]:
        """Returns the proposed entries of [model]."""
        return {key: value for key, value in to_builtins(self).items() if value is not None}


@dataclass(frozen=True)
class ConversionLimits(ProcessLimits):
    """Limits of one conversion, and of the number of a model's parameters."""

    parameters: int = 50_000_000

    def flags(self) -> list[str]:
        """Returns the command-line flags of the limits (see ProcessLimits)."""
        return [*super().flags(), "--max-parameters", str(self.parameters)]


def convert(
    model: Path,
    task_file: Path,
    output: Path,
    limits: ConversionLimits | None = None,
    custom: Path | None = None,
    supervision: Supervision = UNSUPERVISED,
    propose: Callable[[Proposed], None] | None = None,
    program: ExactProgram | None = None,
) -> str:
    """Converts `model` into a bundle in the new folder `output`, and returns a sentence about it.

    The folder appears complete or not at all. `custom` is a Python file that is run: only for an owner's own
    model on the owner's own machine, never for an upload. With `propose` a model without a loss or an
    optimizer gets fitting ones, and `propose` is called with them. The bundle is pinned to `program`.

    Raises BundleError or TaskFileError with the converter's sentence, CancelledError, and SettingsError if
    the converter is not installed.
    """
    limits = limits or ConversionLimits()
    converter = converter_process(limits, supervision)
    output = output.absolute()
    if output.exists():
        raise BundleError(f"{output} exists already; choose another folder or remove it first.")
    output.parent.mkdir(parents=True, exist_ok=True)
    with work_folder(output.parent, ".convert-") as folder:
        draft = folder / "bundle"
        arguments = [str(model.resolve()), "--task", str(task_file.resolve()), "-o", str(draft)]
        if custom:
            arguments += ["--custom", str(custom.resolve())]
        proposed = folder / "proposed.json"
        if propose is not None:
            arguments += ["--propose", str(proposed)]
        remedy = "use a smaller model or batch"
        message = converter.run("The conversion", remedy, "converter", arguments, folder)
        check_results(draft, _BUNDLE_DEPTH, limits.file_bytes)
        check_result(draft / MANIFEST, MANIFEST_BYTES)
        if propose is not None:
            propose(_read_proposed(proposed))
        if program is not None:
            pin_bundle(draft, program)
        draft.rename(output)
    return message


def _read_proposed(path: Path) -> Proposed:
    """Reads the proposals. Raises BundleError: a hostile model may have compromised the converter."""
    try:
        return msgspec.json.decode(read_result(path, PROPOSED_BYTES), type=Proposed)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(f"What the conversion proposes cannot be read ({error}); convert again.") from error
