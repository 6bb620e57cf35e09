"""Prints the cost of a training on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from backend.commands.terminal.tables import facts, listing
from backend.server.estimates.prices import Prices
from backend.server.estimates.recorded_cost import Cost
from backend.server.estimates.training_record import TrainingRecord
from backend.server.tasks.formatting import number
from backend.web.pages.template_words import counted


def print_cost(record: TrainingRecord, cost: Cost, prices: Prices, console: Console) -> None:
    """Prints the clients' work, its cost on each machine of the price table, and energy."""
    passes = counted(record.passes, "epoch" if record.scheme == "volunteer" else "round")
    clients = counted(len(record.work), "client")
    console.print(
        f"\n  [bold]{escape(record.task)}[/bold]  {passes} in {_time(record.seconds)} with {clients}\n"
    )
    console.print(Padding(_work_table(record), (0, 2, 1, 2)))
    console.print("  [bold cyan]On rented machines, one for each client, US dollars[/bold cyan]")
    console.print(Padding(_fleets(cost), (0, 2, 1, 2)))
    console.print("  [bold cyan]Besides[/bold cyan]")
    console.print(Padding(_besides(cost), (0, 2, 1, 2)))
    dates = "; ".join(f"{row.name}: {row.day}" for row in prices.instances)
    console.print(Padding(f"[dim]Prices of {escape(dates)}; set your own with --prices.[/dim]", (0, 2, 1, 2)))


def _work_table(record: TrainingRecord) -> Table:
    table = listing("client", "runs on", ">results", ">examples", ">at work", ">there")
    for row in sorted(record.work, key=lambda row: -row.busy)[:20]:
        table.add_row(
            row.client,
            escape(f"{row.kind} {row.backend}"),
            number(row.results),
            number(row.examples),
            _time(row.busy),
            _time(row.there),
        )
    if len(record.work) > 1:
        results, examples = (
            number(sum(values))
            for values in ([row.results for row in record.work], [row.examples for row in record.work])
        )
        table.add_row("all", "", results, examples, _time(record.busy), _time(record.there))
    return table


def _fleets(cost: Cost) -> Table:
    table = listing("", "paid", ">server", ">standard", ">preemptible", ">saved")
    for row in cost.fleets:
        whole = map(_dollars, (row.server, row.standard_rented, row.preemptible_rented))
        table.add_row(escape(row.instance), "while there", *whole, f"{row.saved:.0%}")
        table.add_row("", "at work", "", *map(_dollars, (row.standard_busy, row.preemptible_busy)))
    return table


def _besides(cost: Cost) -> Table:
    table = facts()
    low, high = cost.energy.kwh
    cheap, dear = cost.energy.dollars
    table.add_row("Traffic", f"{_dollars(cost.traffic)}")
    table.add_row(
        "Energy", f"{_energy(low)} to {_energy(high)} at the clients, {_dollars(cheap)} to {_dollars(dear)}"
    )
    return table


def _dollars(value: float) -> str:
    if value < 0.0001:
        return "under 0.0001" if value else "0"
    return f"{value:,.2f}" if value >= 1 else f"{value:.2g}"


def _energy(kwh: float) -> str:
    return f"{kwh:.3g} kWh" if kwh >= 0.1 else f"{1000 * kwh:.2g} Wh"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
