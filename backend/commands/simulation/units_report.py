"""Prints the results of simulated work units on a terminal."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from backend.commands.simulation.rounds_report import hours, seconds_text, share_text
from backend.commands.terminal.tables import facts, listing
from backend.formats.task_file import TaskFile
from backend.server.tasks.formatting import number, size
from backend.simulation.advice import PLURALS
from backend.simulation.units.advice import unit_advice
from backend.simulation.units.outcome import OutcomeCount, UnitRunFigures, ValueSpread
from backend.simulation.units.unit_trial import UnitTrial
from backend.web.pages.template_words import counted

# Number of epochs whose ends are shown.
EPOCHS = 4


def print_units(file: TaskFile, trial: UnitTrial, plan: UnitRunFigures, console: Console) -> None:
    """Prints the plan's figures and advice for its owner."""
    population = trial.population
    people = f"{counted(population.clients, 'client')}, {population.churn:.0%} of their units broken off"
    console.print(f"\n  [bold]{escape(file.title)}[/bold]  {counted(trial.epochs, 'epoch')} with {people}\n")
    console.print(Padding(_facts(trial, plan), (0, 2, 1, 2)))
    console.print("  [bold cyan]Units handed out[/bold cyan]")
    console.print(Padding(_outcomes(plan), (0, 2, 1, 2)))
    console.print("  [bold cyan]Devices[/bold cyan]")
    console.print(Padding(_devices(plan), (0, 2, 1, 2)))
    for sentence in unit_advice(plan, trial.store):
        console.print(Padding(f"[yellow]{sentence}[/yellow]", (0, 2, 1, 2)))


def _facts(trial: UnitTrial, plan: UnitRunFigures) -> Table:
    servers = f"{share_text(plan.servers_busy)} busy, {plan.servers_mean or 0.0:.1f} in the mean"
    rows = [
        (f"{counted(len(plan.epoch_ends), 'epoch')} took", hours(plan.seconds / 3600)),
        ("Epochs ended after", _ends(plan)),
        ("Rows trained on", f"{share_text(plan.visited)} of those in all epochs"),
        ("Staleness", _spread(plan.staleness, lambda value: f"{value:g}")),
        ("Blending a result", _spread(plan.waits, _duration)),
        ("Waiting results", _spread(plan.queues, lambda value: f"{value:g}")),
        ("Parameter servers", f"{servers}, at most {plan.servers_most} ({trial.store})"),
        ("Overwritten", f"{plan.overwritten:g} results"),
        ("Clients train", f"{share_text(plan.clients_busy)} of the time in which they are there"),
        ("Preemptions", number(plan.preemptions)),
        ("The server", f"{size(plan.server_bytes_out)} out, {size(plan.server_bytes_in)} in"),
    ]
    table = facts()
    for name, text in rows:
        table.add_row(name, text)
    return table


def _ends(plan: UnitRunFigures) -> str:
    ends = [hours(seconds / 3600) for seconds in plan.epoch_ends]
    if len(ends) > EPOCHS:
        ends = [*ends[: EPOCHS - 1], "...", ends[-1]]
    return ", ".join(ends) if ends else "never, like this"


def _outcomes(plan: UnitRunFigures) -> Table:
    table = listing("", ">units", ">steps")
    for row in plan.outcomes:
        _add(table, row.outcome.capitalize(), row)
        if row.outcome == "lost":
            _add(table, "  by preemption", plan.preempted)
            _add(table, "  by dropping out", plan.dropped_out)
    steps = sum(row.steps for row in plan.outcomes)
    _add(table, "All", OutcomeCount("in flight", plan.handed_out, steps))
    table.add_row("In vain", "", share_text(plan.wasted_steps))
    return table


def _add(table: Table, name: str, row: OutcomeCount) -> None:
    table.add_row(name, number(row.units), number(row.steps))


def _devices(plan: UnitRunFigures) -> Table:
    table = listing("", ">clients", ">units", ">counted", ">late", ">not needed", ">lost", ">need")
    for row in plan.devices:
        plural = PLURALS[row.device]
        shares = (share_text(share) for share in (row.counted, row.late, row.not_needed, row.lost))
        name = plural[:1].upper() + plural[1:]
        table.add_row(name, number(row.clients), number(row.units), *shares, seconds_text(row.seconds_needed))
    return table


def _spread(spread: ValueSpread, text: Callable[[float], str]) -> str:
    if spread.median is None or spread.ninety is None or spread.most is None:
        return "-"
    return f"{text(spread.median)} (median), {text(spread.ninety)} (90 %), {text(spread.most)} (most)"


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"
