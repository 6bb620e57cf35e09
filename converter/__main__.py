"""`python -m converter MODEL --task task.toml -o DIR`: the conversion as its own, limited process.

The last line on standard output is JSON, `{"ok": true, "message": ...}`, or with `"code"` and false where the
model or the task file was refused. Exit code 0: the bundle is in DIR; 1: refused; 2: wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from converter.limits import Limits, apply_limits, quiet_tensorflow
from converter.refusal import Refusal
from converter.sandbox import confine
from converter.task import read_task


def main(arguments: list[str] | None = None) -> int:
    """Convert; returns the exit code."""
    args = _parser().parse_args(arguments)
    limits = Limits(args.cpu_seconds, args.memory_bytes, args.file_bytes, args.max_parameters)
    apply_limits(limits)
    quiet_tensorflow()
    try:
        message = _convert(args, limits)
    except Refusal as refusal:
        return _answer(False, str(refusal), refusal.code)
    except MemoryError:
        return _answer(
            False, "The conversion needs more memory than it may use; use a smaller model.", "bad-bundle"
        )
    except OSError as error:
        return _answer(False, f"The bundle could not be written: {error.strerror}.", "bad-bundle")
    return _answer(True, message)


def _convert(args: argparse.Namespace, limits: Limits) -> str:
    output: Path = args.output
    model: Path = args.model.resolve()
    task = read_task(args.task)
    if output.exists():
        raise Refusal(f"{output} exists already; choose another folder or remove it first.")
    if not model.exists():
        raise Refusal(f"{args.model} cannot be read (No such file or directory); check the path.")
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".bundle-", dir=output.parent) as temporary:
        _shut_in(model, args.custom, output.parent, temporary)
        # TensorFlow is imported only now: shut in, within limits, and after cheap mistakes were told.
        try:
            from converter.bundle import write_bundle
        except ImportError as error:
            raise Refusal(
                f"TensorFlow cannot be loaded ({error}); allow more memory or install minga[convert]."
            ) from error
        draft = Path(temporary) / "bundle"
        draft.mkdir()
        manifest = write_bundle(model, task, draft, limits, args.custom)
        draft.rename(output)
    parameters = manifest["parameters"]["trainable"] + manifest["parameters"]["state"]
    return f"{parameters} parameters, {len(manifest['files'])} files."


def _shut_in(model: Path, custom: Path | None, folder: Path, temporary: str) -> None:
    tempfile.tempdir = os.environ["KERAS_HOME"] = temporary
    # The weights of a TF.js model lie beside its model.json.
    readable = [model.parent if model.suffix.lower() == ".json" else model]
    if custom:
        readable.append(custom.resolve().parent)
    for sentence in confine(readable, [folder]):
        print(f"sandbox: {sentence}.", file=sys.stderr)


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
    defaults = Limits()
    parser.add_argument("--cpu-seconds", type=int, default=defaults.cpu_seconds)
    parser.add_argument("--memory-bytes", type=int, default=defaults.memory_bytes, help="address space")
    parser.add_argument("--file-bytes", type=int, default=defaults.file_bytes, help="largest file written")
    parser.add_argument("--max-parameters", type=int, default=defaults.parameters)
    return parser


def _answer(ok: bool, message: str, code: str | None = None) -> int:
    answer = {"ok": ok, "message": message} | ({"code": code} if code else {})
    sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    return 0 if ok else 1


if __name__ == "__main__":
    raise SystemExit(main())
