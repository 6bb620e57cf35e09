"""Prints the results of a simulated plan on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from backend.commands.terminal.tables import facts, listing
from backend.formats.task_file import TaskFile
from backend.server.tasks.formatting import number, size
from backend.simulation.advice import PLURALS, advice
from backend.simulation.outcome import RunFigures
from backend.simulation.plan_trial import TrainingFigures, TrialResult
from backend.simulation.population import SimulatedPopulation
from backend.web.pages.template_words import counted

Results = list[tuple[str, TrialResult]]
# Number of versions shown of a curve.
POINTS = 10


def print_forecast(
    file: TaskFile, population: SimulatedPopulation, results: Results, console: Console
) -> None:
    """Prints the plan's figures, advice for its owner, and the variants' figures."""
    (_, result), *_ = results
    plan = result.outcome
    people = f"{counted(population.clients, 'client')}, {population.churn:.0%} of their work broken off"
    console.print(f"\n  [bold]{escape(file.title)}[/bold]  {counted(plan.rounds, 'round')} with {people}\n")
    console.print(Padding(_facts(plan, file), (0, 2, 1, 2)))
    console.print("  [bold cyan]Devices[/bold cyan]")
    console.print(Padding(_devices(plan), (0, 2, 1, 2)))
    if result.trained is not None:
        console.print("  [bold cyan]Training[/bold cyan]")
        console.print(Padding(_curve(result.trained), (0, 2, 1, 2)))
        spent = (
            f"{counted(result.trained.steps, 'step')} took {result.trained.seconds:.0f} s on this machine."
        )
        console.print(Padding(spent, (0, 2, 1, 2)))
    for sentence in advice(plan, file):
        console.print(Padding(f"[yellow]{sentence}[/yellow]", (0, 2, 1, 2)))
    if len(results) > 1:
        console.print("  [bold cyan]With one value changed[/bold cyan]")
        console.print(Padding(_variants(results), (0, 2, 1, 2)))


def _facts(plan: RunFigures, file: TaskFile) -> Table:
    chosen = file.coordination
    updates, examples = _number(plan.updates_per_version), _number(plan.examples_per_version)
    down, up = _size(plan.client_bytes_down_per_round), _size(plan.client_bytes_up_per_round)
    sent, received = _size(plan.server_bytes_out_per_round), _size(plan.server_bytes_in_per_round)
    rows = [
        ("Rounds", f"{_number(plan.rounds_per_hour)} an hour, {share_text(plan.abandoned_share)} abandoned"),
        (
            "A round",
            f"{seconds_text(plan.round_seconds_median)}, at most {seconds_text(plan.round_seconds_longest)}",
        ),
        ("", f"{share_text(plan.full_length_share)} as long as they may (deadline {chosen.deadline:g} s)"),
        ("A version", f"{updates} updates, {examples} examples"),
        ("Wasted work", f"{share_text(plan.wasted_work)} of the examples trained on"),
        (f"To version {chosen.rounds}", hours(plan.hours_to_all_versions)),
        ("A client", f"{down} down, {up} up a round, in the mean"),
        (
            "The server",
            f"{sent} out, {received} in a round; {share_text(plan.server_line_share)} of its line",
        ),
    ]
    table = facts()
    for name, text in rows:
        table.add_row(name, text)
    return table


def _devices(plan: RunFigures) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 1, 0, 0))
    table.add_column("")
    for heading in ("clients", "plans", "counted", "cut short", "left", "late", "need", "have"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in plan.devices:
        shares = (share_text(share) for share in (row.counted, row.cut_short, row.left, row.late))
        times = (seconds_text(row.seconds_needed), seconds_text(row.seconds_given))
        plural = PLURALS[row.device]
        name = plural[:1].upper() + plural[1:]
        table.add_row(name, number(row.clients), number(row.plans), *shares, *times)
    return table


def _variants(results: Results) -> Table:
    table = listing("", ">rounds an hour", ">abandoned", ">wasted", ">until all versions")
    for change, result in results:
        row = result.outcome
        cells = (_number(row.rounds_per_hour), share_text(row.abandoned_share), share_text(row.wasted_work))
        table.add_row(escape(change) or "as it is", *cells, hours(row.hours_to_all_versions))
    return table


def _curve(trained: TrainingFigures) -> Table:
    """Tabulates evenly spaced versions, including the first and the last."""
    names = list(trained.curve[-1].metrics)
    table = listing(
        *(f">{heading}" for heading in ("version", "after", "training loss", "held-out loss", *names))
    )
    last = len(trained.curve) - 1
    for index in sorted({round(last * share / (POINTS - 1)) for share in range(POINTS)}):
        row = trained.curve[index]
        metrics = (f"{row.metrics[name]:.4f}" if name in row.metrics else "-" for name in names)
        losses = ("-" if loss is None else f"{loss:.4f}" for loss in (row.trained_loss, row.loss))
        table.add_row(number(row.version), hours(row.hours), *losses, *metrics)
    return table


def _number(value: float | None) -> str:
    return "no" if value is None else number(value) if value >= 10 else f"{value:.1f}"


def share_text(value: float | None) -> str:
    """Returns a share in percent."""
    return "-" if value is None else f"{value:.0%}"


def seconds_text(value: float | None) -> str:
    """Returns seconds with one decimal."""
    return "-" if value is None else f"{value:.1f} s"


def _size(value: float | None) -> str:
    return "-" if value is None else size(value)


def hours(value: float | None) -> str:
    """Returns hours in the unit that suits them."""
    if value is None:
        return "never, like this"
    if value < 1 / 30:
        return f"{3600 * value:.0f} s"
    if value < 1:
        return f"{60 * value:.0f} minutes"
    return f"{value:.1f} hours" if value < 48 else f"{value / 24:.1f} days"
