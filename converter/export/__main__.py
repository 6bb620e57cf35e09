"""`python -m converter.export MODEL --weights FILE --format F -o FILE`: exports one model file.

The export runs as a process with limits and answers on standard output as the conversion does
(converter/__main__.py). Exit code 0: the file is written; 1: the model cannot be expressed in that format; 2:
wrong arguments.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from converter.conversion_task import read_task
from converter.refusal import Refusal
from converter.sandbox.limited_command import add_limits, enter_sandbox, run_limited

FORMATS = ("keras", "tfjs-layers", "tfjs-graph", "saved-model", "onnx")


def main(arguments: list[str] | None = None) -> int:
    """Runs the export that the arguments describe; returns the exit code."""
    args = _parser().parse_args(arguments)
    return run_limited(args, "export", lambda: _export(args))


def _export(args: argparse.Namespace) -> str:
    model, weights = args.model.resolve(), args.weights.resolve()
    task = None if args.task is None else read_task(args.task.resolve())
    output: Path = args.output.absolute()
    if output.exists():
        raise Refusal(f"{output.name} exists already; choose another name.")
    with tempfile.TemporaryDirectory(prefix=".export-", dir=output.parent) as temporary:
        enter_sandbox([model, weights], [output.parent], temporary)
        # TensorFlow is imported only in the sandbox, within the limits.
        from converter.export.compiled_version import compile_version
        from converter.export.export_formats import WRITERS
        from converter.export.model_version import load_version

        draft = Path(temporary) / "draft"
        draft.mkdir()
        version = load_version(model, weights, args.limits)
        reason = compile_version(version, task) if args.format == "keras" and task is not None else None
        WRITERS[args.format](version, draft).rename(output)
    return f"{output.stat().st_size} bytes. {reason or ''}".strip()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m converter.export")
    parser.add_argument("model", type=Path, help="model.keras of a bundle")
    parser.add_argument("--weights", type=Path, required=True, help="flat vector, little-endian float32")
    parser.add_argument("--task", type=Path, help="task file that says how a keras file is compiled")
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file; must not exist")
    add_limits(parser)
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
