"""`python -m converter.integrity MODEL --data FILE -o DIR`: measures signs of a backdoor in a model.

FILE is an .npz with `x_0`, ... as the model takes them, and `y_0`, the classes. `--weights` puts a flat
vector into the model of a bundle. DIR/report.json gets the figures (`measure`). The process answers on
standard output as the converter does.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from converter.refusal import Refusal
from converter.sandbox.limited_command import add_limits, enter_sandbox, run_limited
from converter.sandbox.process_limits import Limits

REPORT = "report.json"
# Threads of TensorFlow, and their priority: the server hosts tasks meanwhile.
_THREADS, _NICENESS = 2, 10
# Of the triggers, each of which costs as much as the first, and of all: pairs of classes are counted.
_MAX_CLASSES, _MOST_CLASSES = 100, 2000


def main(arguments: list[str] | None = None) -> int:
    """Runs the measurement that the arguments describe; returns the exit code."""
    parser = argparse.ArgumentParser("python -m converter.integrity")
    parser.add_argument("model", type=Path, help="a model file, or model.keras of a bundle")
    parser.add_argument("--weights", type=Path, help="flat vector, little-endian float32")
    parser.add_argument("--data", type=Path, required=True, help="examples as .npz")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for report.json")
    add_limits(parser)
    args = parser.parse_args(arguments)
    return run_limited(args, "integrity check", lambda: _run(args))


def _run(args: argparse.Namespace) -> str:
    model, output, data = args.model.resolve(), args.output.resolve(), args.data.resolve()
    weights = None if args.weights is None else args.weights.resolve()
    readable = [model, data] if weights is None else [model, data, weights]
    with tempfile.TemporaryDirectory(prefix=".integrity-", dir=output) as temporary:
        os.nice(_NICENESS)
        enter_sandbox(readable, [output], temporary)
        print("doing: Starting TensorFlow.", flush=True)
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(_THREADS)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        loaded, examples = _loaded(model, weights, args.limits), _examples(data)
        print("doing: Searching the smallest trigger of each class.", flush=True)
        report = measure(loaded, examples)
    (output / REPORT).write_text(json.dumps(report), "utf-8")
    return "The model was measured."


def measure(model: Any, examples: dict[str, Any]) -> dict[str, Any]:
    """Measures a Keras model on `examples` `x_0`, ..., `y_0`. Raises Refusal.

    Returns `classes`, their number; `answers`, rows of true class, answer and how often it was given; and
    `norms`, the L1 norms of the smallest triggers [classes], null where they cannot be searched, with the
    reason in `unmeasured`.
    """
    from converter.integrity.class_answers import class_count, confusion, input_columns, read_labels
    from converter.integrity.trigger_inversion import trigger_norms

    classes = class_count(model)
    if classes > _MOST_CLASSES:
        raise Refusal(f"The integrity score takes {_MOST_CLASSES} classes at most; the model has {classes}.")
    if "y_0" not in examples:
        raise Refusal("The examples have no labels `y_0`; the score needs the class of each example.")
    labels = read_labels(examples["y_0"], classes)
    inputs = {name: values for name, values in examples.items() if name.startswith("x_")}
    if any(len(values) != len(labels) for values in inputs.values()):
        raise Refusal("Inputs and labels of the examples differ in number.")
    counts = confusion(model, inputs, labels, classes)
    unmeasured, norms = _unmeasured(model, classes), None
    if not unmeasured:
        norms = trigger_norms(model, input_columns(model, inputs)[0], classes)
    answers = [
        [int(true), int(said), int(counts[true, said])] for true, said in zip(*counts.nonzero(), strict=True)
    ]
    return {"classes": classes, "answers": answers, "norms": norms, "unmeasured": unmeasured}


def _unmeasured(model: Any, classes: int) -> str:
    """Says why triggers cannot be searched; empty where they can."""
    if classes < 3:
        return "The smallest triggers are compared among classes: at least 3 are needed."
    if classes > _MAX_CLASSES:
        return f"Triggers are searched for at most {_MAX_CLASSES} classes, and the model has {classes}."
    if len(model.inputs) != 1:
        return "Triggers are searched in models with one input."
    if model.inputs[0].dtype != "float32":
        return "The input is whole numbers, such as words, in which no gradient leads to a trigger."
    return ""


def _loaded(model: Path, weights: Path | None, limits: Limits) -> Any:
    from converter.export.model_version import load_version
    from converter.readers.model_loader import load_model

    # Keras prints; standard output is reserved for the answer.
    with contextlib.redirect_stdout(io.StringIO()):
        return load_model(model, limits) if weights is None else load_version(model, weights, limits)


def _examples(path: Path) -> dict[str, Any]:
    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
        raise Refusal(f"The examples cannot be read ({error}); give an .npz of plain arrays.") from error


if __name__ == "__main__":
    raise SystemExit(main())
