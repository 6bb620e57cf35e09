"""Prints the inspection of a model on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from backend.commands.terminal.tables import facts, listing
from backend.server.drafts.toml import to_toml
from backend.server.estimates.devices import DEVICES
from backend.server.tasks.formatting import between, number, operations, relative_error, shape, size
from backend.server.tasks.model_inspection import Inspection, fastest
from backend.web.pages.template_words import BACKENDS, counted
from backend.web.pages.template_words import DEVICES as DEVICE_WORDS

OPS_SHOWN = 6
VERDICTS = {"everywhere": "green", "some devices": "yellow", "nowhere": "red"}


@dataclass(frozen=True)
class InspectionReport:
    """What is printed: the inspection, and sentences on exactness.

    `units` says whether the task has work units; None without a task. `proposed` are entries of [model] that
    neither a task file nor the model gives.
    """

    inspection: Inspection
    units: bool | None = None
    exactness: Sequence[str] = ()
    proposed: Mapping[str, Any] = field(default_factory=dict)


def print_report(report: InspectionReport, console: Console) -> None:
    """Prints layers, step, traffic, backends, times, and sentences on exactness, in that order."""
    inspection, manifest = report.inspection, report.inspection.manifest
    parameters = counted(manifest.parameters.total, "parameter")
    title = f"[bold]{escape(manifest.name)}[/bold]  {parameters}, batches of {manifest.batch_size}"
    console.print(f"\n  {title}\n")
    if manifest.checked is not None:
        worst = relative_error(manifest.checked.worst)
        console.print(f"  Checked against Keras: the worst difference was {worst}.\n")
    for sentence in manifest.warnings:
        console.print(Padding(f"[yellow]Note:[/yellow] {escape(sentence)}", (0, 2, 1, 2)))
    if report.proposed:
        _print_proposed(report.proposed, console)
    for heading, table in (
        ("Layers", _layers(inspection)),
        ("One training step", _step(inspection)),
        ("On the wire", _wire(inspection, report.units)),
        ("Time of one step, estimated", _times(inspection)),
    ):
        console.print(f"  [bold cyan]{heading}[/bold cyan]")
        console.print(Padding(table, (0, 2, 1, 2)))
    for reason, backends in inspection.reasons().items():
        names = ", ".join(BACKENDS[backend] for backend in backends)
        console.print(Padding(f"[yellow]{names}[/yellow]: {escape(reason)}", (0, 2, 1, 2)))
    pins = manifest.exact
    pinned = "not pinned" if pins is None else f"pinned to the program {pins.program[:12]}"
    console.print("  [bold cyan]The same bits everywhere[/bold cyan]")
    text = " ".join([f"The bundle is {pinned}.", *report.exactness])
    console.print(Padding(escape(text), (0, 2, 1, 2)))


def _print_proposed(proposed: Mapping[str, Any], console: Console) -> None:
    """Prints what the model is not compiled with as the lines of a task file that say the same."""
    text = "The model is not compiled with everything that training needs. Proposed for its task file:"
    console.print(Padding(text, (0, 2, 0, 2)))
    console.print(Padding(escape(to_toml({"model": dict(proposed)}).strip()), (0, 2, 1, 4)))


def _layers(inspection: Inspection) -> Table:
    table = listing("name", "kind", "output", ">parameters")
    for layer in inspection.manifest.layers:
        outputs = ", ".join(shape(output) for output in layer.output_shapes)
        frozen = layer.parameters - layer.trainable
        count = number(layer.parameters) + (f" ({number(frozen)} fixed)" if frozen else "")
        table.add_row(escape(layer.name), escape(layer.kind), outputs, count if layer.parameters else "")
    return table


def _step(inspection: Inspection) -> Table:
    memory, ops = inspection.manifest.step.memory, inspection.manifest.step.ops
    total = max(1, inspection.step_flops)
    shares = [
        f"{row.op}\u00a0{row.flops / total:.0%}" for row in ops[:OPS_SHOWN] if row.flops > 0.005 * total
    ]
    parts = {
        "weights": memory.weights,
        "optimizer": memory.slots,
        "batch": memory.inputs,
        "constants": memory.constants,
        "in between": memory.intermediates,
    }
    table = facts()
    table.add_row(
        "Arithmetic", f"{operations(inspection.step_flops)} in {counted(inspection.step_ops, 'op')}"
    )
    table.add_row("", f"[dim]{', '.join(shares)}[/dim]")
    sliced, rows = inspection.manifest.step.sliced, inspection.manifest.slice
    sliced_text = f", or {size(sliced.memory.peak)} in slices of {rows.batch_size}" if sliced and rows else ""
    table.add_row("Memory", f"{size(memory.peak)}{sliced_text}")
    table.add_row("", f"[dim]{', '.join(f'{name} {size(count)}' for name, count in parts.items())}[/dim]")
    return table


def _wire(inspection: Inspection, units: bool | None) -> Table:
    wire = inspection.traffic
    program = "" if wire.program is None else f", and up to {size(wire.program)} of programs"
    # Clients of work units cache shards, so each is downloaded once only.
    kind = "examples of a new shard" if units else "examples down"
    data = "" if wire.data is None else f", {size(wire.data)} of {kind}"
    each = {None: "Each round or unit", False: "Each round", True: "Each unit"}[units]
    table = facts()
    table.add_row("A browser, once", f"{size(wire.browser_bundle)}{program}")
    table.add_row("A peer, once", size(wire.peer_bundle))
    table.add_row(each, f"{size(wire.version_down)} down, {size(wire.update_up)} up{data}")
    return table


def _times(inspection: Inspection) -> Table:
    best = fastest(inspection.step_times)
    cells = {(output.device, output.backend): output for output in inspection.step_times}
    table = listing("", "can train on", *(f">{DEVICE_WORDS[device.name].lower()}" for device in DEVICES))
    for backend in inspection.backends:
        row = []
        for device in DEVICES:
            cell = cells.get((device.name, backend.backend))
            text = "" if cell is None else "no" if cell.range_ms is None else between(*cell.range_ms)
            row.append(f"[bold]{text}[/bold]" if cell is not None and best.get(device.name) is cell else text)
        colour = VERDICTS[backend.eligible]
        table.add_row(BACKENDS[backend.backend], f"[{colour}]{backend.eligible}[/{colour}]", *row)
    return table
