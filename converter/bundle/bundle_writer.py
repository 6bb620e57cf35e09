"""Converts a model file into a bundle directory (docs/reference/bundle.md)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from converter.bundle.keras_model_file import save_model
from converter.bundle.tfjs_graph_model import write_graph_model
from converter.conversion_task import ConversionTask
from converter.objectives.joint_objectives import JointObjectives
from converter.objectives.joint_selection import choose_joint_objectives
from converter.objectives.objective_proposals import proposal_sentences, proposals
from converter.objectives.objective_selection import Objectives, choose_objectives
from converter.op_allowlist import check_ops
from converter.optimizers import (
    Optimizer,
    PartOptimizers,
    compiled_optimizer,
    is_constrained,
    make_optimizer,
    objective_optimizers,
)
from converter.readers.model_loader import load_model
from converter.sandbox.process_limits import Limits
from converter.summary.model_summary import summarize, summarize_slices
from converter.tracing.batch_slices import SIGNATURE, is_sliceable, slice_size, trace_slice
from converter.tracing.graph_freezer import freeze
from converter.tracing.layer_state import state_warnings
from converter.tracing.loop_lengths import check_loops, has_loops
from converter.tracing.model_ports import ModelPorts, Port, find_ports
from converter.tracing.tracer import Traced, Tracer
from converter.tracing.vector_layout import Layout
from converter.validation.model_checks import check_batch
from converter.validation.own_training import refuse_own_training
from converter.validation.padding_invariance import check_padding, may_mix_rows
from converter.validation.second_opinion.opinion import second_opinion
from converter.validation.unowned_weights import constant_warnings
from converter.validation.unsupported_layers import refuse_unsupported

FORMAT = "minga-bundle/2"


def _silent(_text: str) -> None:
    """Discards the sentence."""


def write_bundle(
    model_file: Path,
    task: ConversionTask,
    directory: Path,
    limits: Limits,
    custom: Path | None = None,
    report_progress: Callable[[str], None] = _silent,
    propose: Callable[[dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Writes all files of the bundle into the existing, empty `directory`; returns the manifest.

    Raises Refusal. `custom` is the owner's Python file with the model's own layers; it is run. `tell` is
    called with sentences about the progress. With `propose`, missing keys of [model] are proposed and
    `propose` is called with them.
    """
    report_progress("Reading the model.")
    model = load_model(model_file, limits, custom)
    refuse_unsupported(model, own_code=custom is not None)
    refuse_own_training(model)
    warnings = constant_warnings(model)
    for sentence in warnings:
        report_progress(sentence)
    check_batch(model, task.batch_size)
    model_ports = find_ports(model)
    if propose is not None:
        proposed = proposals(model, task, model_ports)
        task = replace(task, **proposed)
        for sentence in proposal_sentences(proposed):
            report_progress(sentence)
        propose(proposed)
    objectives, optimizer = _training(model, task, model_ports)
    layout = Layout(model)
    report_progress(f"Found {layout.trainable + layout.state:,} parameters. Tracing a training step.")
    tracer = Tracer(model, layout, model_ports, objectives, optimizer, task.batch_size)
    if has_loops(model):
        check_loops(tracer.predict)
    train = tracer.train()
    traces = {
        "train": train,
        "apply": tracer.apply(tuple(train.reads)),
        "evaluate": tracer.evaluate(),
        "predict": tracer.predict(),
    }
    layers = [layer.name for layer in model._flatten_layers() if layer is not model]
    # The forward graph comes first: a refusal then names what the owner wrote, not its gradient.
    graphs = {name: freeze(traces[name], layers) for name in reversed(traces)}
    graphs = {name: graphs[name] for name in traces}
    for sentence in state_warnings(tracer.forgotten_state):
        warnings.append(sentence)
        report_progress(sentence)
    output_names = {name: [tensor.op.name for tensor in trace.outputs] for name, trace in traces.items()}
    summary = summarize(model, layout, graphs, output_names)
    report_progress("Looking for slices that suit small devices.")
    rows = slice_size(task.batch_size, summary["step"]["memory"]["intermediates"], task.slice)
    if rows is not None and is_sliceable(model, objectives):
        sliced = trace_slice(tracer, traces["train"], rows)
        if sliced is not None:
            traces[SIGNATURE], graphs[SIGNATURE] = sliced
            summary["step"]["sliced"] = summarize_slices(layout, graphs, output_names, SIGNATURE)
    report_progress("Checking every operation against the allow-list.")
    # The forward graph is checked first: its ops mean more to the owner than those of their gradients.
    ops = {name: check_ops(graphs[name], name, layers) for name in reversed(graphs)}

    own_metric = any(metric.own for _, metric in objectives.measured)
    if objectives.own or own_metric or may_mix_rows(model):
        check_padding(tracer, traces["train"], graphs["train"])
    report_progress("Writing the graphs for browsers and for TensorFlow.")
    _write_graphs(graphs, directory)
    (directory / "weights.bin").write_bytes(layout.values().tobytes())
    save_model(model, model_file, directory / "model.keras")
    report_progress("Comparing the bundle with Keras.")
    checked = second_opinion(tracer, task, traces, graphs, directory / "model.keras", custom)

    manifest = _manifest(task, tracer, objectives, optimizer, traces)
    manifest["slice"] = {"batch_size": rows} if SIGNATURE in graphs else None
    manifest |= {"checked": checked, "warnings": warnings, "ops": ops, **summary, "files": _files(directory)}
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    (directory / "bundle.json").write_text(text + "\n", "utf-8")
    return manifest


def _training(
    model: Any, task: ConversionTask, model_ports: ModelPorts
) -> tuple[Objectives | JointObjectives, Optimizer | PartOptimizers]:
    """Selects what is measured and who steps, by the task file, else by the compiled model."""
    if task.objectives:
        joint = choose_joint_objectives(model, task, model_ports)
        parts = [objective.part for objective in joint.objectives]
        return joint, objective_optimizers(model, task, parts)
    objectives = choose_objectives(model, task, model_ports)
    return objectives, make_optimizer(task.optimizer or compiled_optimizer(model))


def _write_graphs(graphs: dict[str, Any], directory: Path) -> None:
    (directory / "native").mkdir()
    for name, graph in graphs.items():
        (directory / "native" / f"{name}.pb").write_bytes(graph.SerializeToString(deterministic=True))
        write_graph_model(graph, directory / name)


def _manifest(
    task: ConversionTask,
    tracer: Tracer,
    objectives: Objectives | JointObjectives,
    optimizer: Optimizer | PartOptimizers,
    traces: dict[str, Traced],
) -> dict[str, Any]:
    layout = tracer.layout
    train = traces["train"]
    return {
        "format": FORMAT,
        "name": task.name,
        "batch_size": task.batch_size,
        "parameters": {"trainable": layout.trainable, "state": layout.state},
        "layout": [
            {"name": e.name, "shape": list(e.shape), "offset": e.offset, "trainable": e.trainable}
            for e in layout.entries
        ],
        "inputs": [_port(port) for port in tracer.model_ports.inputs],
        "labels": [_port(port) for port in objectives.labels],
        "outputs": [
            _port(port, objectives.loss_name(k)) for k, port in enumerate(tracer.model_ports.outputs)
        ],
        "metrics": objectives.metrics,
        "optimizer": {
            "name": optimizer.name,
            "learning_rate": optimizer.learning_rate,
            "slots": optimizer.slots,
            "hyperparameters": optimizer.hyperparameters
            | ({"constrained": True} if is_constrained(layout) else {}),
            "schedule": optimizer.schedule,
        },
        "preprocess": task.preprocess,
        "random": [
            {"name": t.op.name, "shape": t.shape.as_list(), "kind": "uniform"}
            for t in train.inputs
            if t.op.name.startswith("random_")
        ],
        "signatures": {
            name: {"inputs": _tensors(trace.inputs), "outputs": _tensors(trace.outputs)}
            for name, trace in traces.items()
        },
    }


def _port(port: Port, loss: str | None = None) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": port.name, "shape": list(port.shape), "dtype": port.dtype}
    if port.classes is not None:
        entry["classes"] = port.classes
    return entry | ({"loss": loss} if loss is not None else {})


def _tensors(tensors: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [
        {"name": t.op.name, "tensor": t.op.name, "shape": t.shape.as_list(), "dtype": t.dtype.name}
        for t in tensors
    ]


def _files(directory: Path) -> dict[str, dict[str, Any]]:
    files = {}
    for path in sorted(p for p in directory.rglob("*") if p.is_file()):
        content = path.read_bytes()
        files[path.relative_to(directory).as_posix()] = {
            "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content),
        }
    return files
