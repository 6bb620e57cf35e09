"""`python -m converter.starter_models NAME SHAPE -o FILE.keras`: builds a starter model in the sandbox.

SHAPE is the JSON of a `StarterShape`. The output has the format of `python -m converter`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from converter.refusal import Refusal
from converter.sandbox.limited_command import add_limits, enter_sandbox, run_limited

_SEED = 1


def main(arguments: list[str] | None = None) -> int:
    """Builds the model that the arguments describe; returns the exit code."""
    parser = argparse.ArgumentParser("python -m converter.starter_models")
    parser.add_argument("name", help="name of the starter model")
    parser.add_argument("shape", help="what it is made for, as JSON")
    parser.add_argument("-o", "--output", type=Path, required=True, help="file of the model")
    add_limits(parser)
    args = parser.parse_args(arguments)
    return run_limited(args, "building of the model", lambda: _build(args))


def _build(args: argparse.Namespace) -> str:
    output: Path = args.output.resolve()
    with tempfile.TemporaryDirectory(prefix=".starter-", dir=output.parent) as temporary:
        enter_sandbox([], [output.parent], temporary)
        print("doing: Starting TensorFlow.", flush=True)
        os.environ.setdefault("KERAS_BACKEND", "tensorflow")
        # TensorFlow is imported only in the sandbox.
        import keras

        from converter.starter_models.shape import read_shape
        from converter.starter_models.starters import STARTERS

        build = STARTERS.get(args.name)
        if build is None:
            raise Refusal(f"There is no starter model {args.name}; there are {', '.join(STARTERS)}.")
        shape = read_shape(args.shape)
        print("doing: Building the model.", flush=True)
        keras.utils.set_random_seed(_SEED)
        model = build(shape)
        parameters = model.count_params()
        if parameters > args.limits.parameters:
            raise Refusal(
                f"This starter model would have {parameters:,} parameters for these data, and "
                f"{args.limits.parameters:,} are allowed; make the pictures or the vocabulary smaller."
            )
        model.save(output)
    return str(parameters)


if __name__ == "__main__":
    raise SystemExit(main())
