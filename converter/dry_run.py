"""`python -m converter.dry_run BUNDLE -o DIR`: runs one training step of a bundle in TensorFlow.

The predictions are compared with those of Keras' own model. DIR/report.json gets the results
(`dry_run_bundle`), DIR/step.safetensors the batch, the loss and the gradient of the step, so that a browser
or peer can repeat the step and compare. The process answers on standard output as the converter does.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from converter.native_graph import native_graph
from converter.refusal import Refusal
from converter.sandbox.limited_command import add_limits, enter_sandbox, run_limited
from converter.step_file import write_step

# Relative L2 distance up to which two computations of the same outputs in float32 agree.
AGREE = 1e-3
REPORT, STEP = "report.json", "step.safetensors"


def main() -> int:
    """Runs the dry run that the arguments describe; returns the exit code."""
    parser = argparse.ArgumentParser("python -m converter.dry_run")
    parser.add_argument("bundle", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder for report.json")
    parser.add_argument("--batch", type=Path, help="examples as .npz: x_0, ..., y_0, ...; default: noise")
    add_limits(parser)
    args = parser.parse_args()
    return run_limited(args, "dry run", lambda: _run(args))


def _run(args: argparse.Namespace) -> str:
    bundle, output = args.bundle.resolve(), args.output.resolve()
    with tempfile.TemporaryDirectory(prefix=".rehearsal-", dir=output) as temporary:
        enter_sandbox([bundle, *([args.batch.resolve()] if args.batch else [])], [output], temporary)
        print("doing: Starting TensorFlow.", flush=True)
        report = dry_run_bundle(bundle, args.batch, args.limits, output / STEP)
    (output / REPORT).write_text(json.dumps(report), "utf-8")
    return "One step was taken."


def dry_run_bundle(
    bundle: Path, batch_file: Path | None, limits: Any, step_file: Path | None = None
) -> dict[str, float]:
    """Predicts with Keras and with the native graph, then takes one training step. Raises Refusal.

    Of the result, `difference` is the largest relative L2 distance of an output, `loss` and `loss_after` are
    the losses of the batch before and after the step, and `gradient_norm`, `step_ms` and `step_loss` (with
    dropout and other training-only layers) describe the step. `step_file` gets every input of `train` except
    the model's values, then `loss` and `gradient`.
    """
    import numpy as np
    from keras import tree

    from converter.export.model_version import load_version
    from converter.tracing.model_ports import find_ports

    manifest = json.loads((bundle / "bundle.json").read_text("utf-8"))
    model = load_version(bundle / "model.keras", bundle / "weights.bin", limits)
    weights, size = np.fromfile(bundle / "weights.bin", "<f4"), manifest["parameters"]["trainable"]
    batch = _batch(manifest, batch_file)
    feeds = {**batch, "trainable": weights[:size], "state": weights[size:]}
    print("doing: Predicting with Keras and with the native graph.", flush=True)
    inputs = [batch[f"x_{number}"] for number in range(len(manifest["inputs"]))]
    expected = tree.flatten(model(find_ports(model).pack(inputs), training=False))
    if not all(np.isfinite(one).all() for one in expected):
        raise Refusal(
            "The model's outputs on these examples are not finite: scale the inputs (0 to 1, or mean 0), or "
            "begin with other weights."
        )
    measured = native_graph(bundle, manifest, "predict")(feeds).values()
    difference = max(
        float(np.linalg.norm(np.subtract(a, b)) / max(float(np.linalg.norm(b)), 1e-12))
        for a, b in zip(measured, expected, strict=True)
    )
    if not difference <= AGREE:
        raise Refusal(
            f"Keras and the converted graph differ by {difference:.2g} in their outputs; please report this "
            "with the model."
        )
    print("doing: Taking one training step.", flush=True)
    stepped, measured = _step(bundle, manifest, feeds)
    if step_file is not None:
        _write_step_file(step_file, manifest, batch, stepped)
    return {"difference": difference, **measured}


def _write_step_file(
    path: Path, manifest: Mapping[str, Any], batch: Mapping[str, Any], stepped: Mapping[str, Any]
) -> None:
    import numpy as np

    names = [spec["name"] for spec in manifest["signatures"]["train"]["inputs"] if spec["name"] in batch]
    outcome = {name: np.asarray(stepped[name], np.float32) for name in ("loss", "gradient")}
    write_step(path, {**{name: batch[name] for name in names}, **outcome})


def _step(
    bundle: Path, manifest: Mapping[str, Any], feeds: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, float]]:
    """Returns the outputs of `train` and the measurements of the step."""
    import numpy as np

    train, apply, measure = (native_graph(bundle, manifest, name) for name in ("train", "apply", "evaluate"))
    train(feeds)  # The first run is slow: TensorFlow still sets up the graph.
    began = time.perf_counter()
    stepped = train(feeds)
    optimizer = manifest["optimizer"]
    after = apply(
        {
            **feeds,
            **{name: stepped[name] for name in ("gradient", "row_squares") if name in stepped},
            "slots": np.zeros((optimizer["slots"], len(feeds["trainable"])), np.float32),
            "learning_rate": np.float32(optimizer["learning_rate"]),
            "step": np.float32(1),
            "past_steps": np.float32(0),
        }
    )
    milliseconds = 1000 * (time.perf_counter() - began)
    updated_feeds = {**feeds, "trainable": after["new_trainable"]}
    measured = {
        "loss": float(measure(feeds)["loss"]),
        "loss_after": float(measure(updated_feeds)["loss"]),
        "step_loss": float(stepped["loss"]),
        "gradient_norm": float(np.linalg.norm(stepped["gradient"])),
        "step_ms": milliseconds,
    }
    if not all(map(np.isfinite, measured.values())):
        raise Refusal(
            "A training step ends in numbers that are not finite: lower the learning rate, scale the inputs "
            "(0 to 1, or mean 0), and check that the loss fits the labels."
        )
    return stepped, measured


def _batch(manifest: Mapping[str, Any], path: Path | None) -> dict[str, Any]:
    """Returns a full batch by input name: the examples in `path`, padded, or noise."""
    import numpy as np

    rows, random = manifest["batch_size"], np.random.default_rng(0)
    feeds: dict[str, Any] = {"sample_weight": np.ones(rows, np.float32)}
    if path is not None:
        with np.load(path, allow_pickle=False) as archive:
            for name in archive.files:
                examples = archive[name][:rows]
                # Padded as clients do (webapp/static/src/core/data/examples.ts, `makeBatch`).
                feeds[name] = np.concatenate(
                    [examples, np.repeat(examples[:1], rows - len(examples), axis=0)]
                )
                feeds["sample_weight"] = (np.arange(rows) < len(examples)).astype(np.float32)
    else:
        for letter, specs in (("x", manifest["inputs"]), ("y", manifest["labels"])):
            for number, spec in enumerate(specs):
                shape = (rows, *spec["shape"])
                integers = random.integers(0, min(spec.get("classes") or 2, 2), shape, np.int32)
                noise = random.random(shape, np.float32)
                feeds[f"{letter}_{number}"] = integers if spec["dtype"] == "int32" else noise
    return feeds | {entry["name"]: random.random(entry["shape"], np.float32) for entry in manifest["random"]}


if __name__ == "__main__":
    raise SystemExit(main())
