"""`python -m converter MODEL --task task.toml -o DIR`: the conversion as its own, limited process.

Lines on standard output that begin with `doing: ` say what is being done. The last line is JSON,
`{"ok": true, "message": ...}`, or with `"code"` and false where the model or the task file was refused.
Exit code 0: the bundle is in DIR; 1: refused; 2: wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from converter.conversion_task import read_task
from converter.refusal import Refusal, escaped
from converter.sandbox.limited_command import add_limits, enter_sandbox, run_limited


def main(arguments: list[str] | None = None) -> int:
    """Runs the conversion that the arguments describe; returns the exit code."""
    args = _parser().parse_args(arguments)
    return run_limited(args, "conversion", lambda: _convert(args))


def _convert(args: argparse.Namespace) -> str:
    output: Path = args.output
    model: Path = args.model.resolve()
    task = read_task(args.task)
    if output.exists():
        raise Refusal(f"{output} exists already; choose another folder or remove it first.")
    if not model.exists():
        raise Refusal(f"{args.model} cannot be read (No such file or directory); check the path.")
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".bundle-", dir=output.parent) as temporary:
        enter_sandbox(_readable(model, args.custom), [output.parent], temporary)
        _report_progress("Starting TensorFlow.")
        # TensorFlow is imported only in the sandbox and after the cheap checks.
        from converter.bundle.bundle_writer import write_bundle

        draft = Path(temporary) / "bundle"
        draft.mkdir()
        propose = None if args.propose is None else partial(_write_proposals, args.propose)
        manifest = write_bundle(model, task, draft, args.limits, args.custom, _report_progress, propose)
        draft.rename(output)
    parameters = manifest["parameters"]["trainable"] + manifest["parameters"]["state"]
    return f"{parameters} parameters, {len(manifest['files'])} files."


def _write_proposals(path: Path, proposals: dict[str, Any]) -> None:
    path.write_text(json.dumps(proposals), "utf-8")


def _readable(model: Path, custom: Path | None) -> list[Path]:
    # The weights of a TF.js model are files in the folder of its model.json.
    readable = [model.parent if model.suffix.lower() == ".json" else model]
    return [*readable, custom.resolve().parent] if custom else readable


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m converter", description=__doc__.splitlines()[0] if __doc__ else None
    )
    parser.add_argument("model", type=Path, help="a .keras, .h5, SavedModel, TF.js model.json, or zip of one")
    parser.add_argument("--task", type=Path, required=True, help="the task file")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="folder of the bundle; must not exist"
    )
    parser.add_argument(
        "--custom", type=Path, help="a Python file of your own that defines the model's layers; it is run"
    )
    parser.add_argument(
        "--propose",
        type=Path,
        metavar="FILE",
        help="propose what neither the task file nor the model says, and write it there as JSON; "
        "beside the output",
    )
    add_limits(parser)
    return parser


def _report_progress(text: str) -> None:
    print(f"doing: {escaped(text)}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
