"""Tasks and their rounds as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from backend.server.tasks.formatting import size
from backend.web.pages.template_words import ENGLISH, counted, number

Told = Mapping[str, Any]


def print_tasks(console: Console, summaries: Sequence[Told], problems: Mapping[str, str]) -> None:
    """A line for each task, those that are not served included."""
    if not summaries and not problems:
        console.print("This server has no tasks.")
        return
    table = Table("task", "version", "accuracy", "here", "state", box=None, header_style="bold")
    for one in summaries:
        version = f"{number(one['version'])} of {number(one['rounds'])}"
        here = number(one["participants"])
        table.add_row(one["name"], version, ENGLISH.percent(one["accuracy"]), here, _state(one))
    for name, problem in problems.items():
        table.add_row(escape(name), "", "", "", f"[yellow]not served:[/yellow] {escape(problem)}")
    console.print(table)


def print_task(console: Console, url: str, one: Told, rounds: Sequence[Told]) -> None:
    """All that a summary says, and the newest rounds."""
    console.print(f"[bold]{escape(one['title'])}[/bold]  {escape(one['summary'])}", soft_wrap=True)
    rows = {
        "state": _state(one),
        "version": f"{number(one['version'])} of {number(one['rounds'])}",
        "accuracy": ENGLISH.percent(one["accuracy"]),
        "here now": counted(one["participants"], "client"),
        "model": f"{counted(one['parameters'], 'parameter')}, {size(4 * one['parameters'])}",
        "examples": number(one["examples"]),
        **_privacy(one["privacy"]),
        "page": f"{url}/tasks/{one['name']}",
        "weights": f"{url}/blobs/{one['weights']}",
    }
    for name, text in rows.items():
        # Addresses stay on one line, to be copied.
        console.print(f"  [cyan]{name:<10}[/cyan]{text}", soft_wrap=True)
    units = one["scheme"] == "volunteer"
    if rounds:
        console.print(f"\n[bold]The last {counted(len(rounds), 'epoch' if units else 'round')}[/bold]")
    for round_ in rounds:
        console.print(round_line({"event": "round", **round_}, units), soft_wrap=True)


def round_line(event: Told, units: bool = False) -> str:
    """A round that ended, or a version that was measured after its round, on one line (rich markup); an epoch
    of work `units` is told as one."""
    name = f"{'epoch' if units else 'round'} {event['round']}"
    if event["event"] == "measured":
        head = f"[bold]{name}[/bold]  version {event['version']} measured"
        return f"{head}  {_figures(event)}"
    made = event["made"]
    when = datetime.fromtimestamp(event["ended"]).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    what = f"[green]version {made['version']}[/green]" if made else "[yellow]abandoned[/yellow]"
    clients = counted(event["cohort"], "client")
    share = (
        f"{counted(event['accepted'], 'unit')} by {clients}" if units else f"{event['accepted']} of {clients}"
    )
    parts = [when, f"[bold]{name}[/bold]", what, share, ENGLISH.duration(event["seconds"])]
    parts.append(_figures(made) if made else escape(event["reason"]))
    if event["refusals"]:
        refused = ", ".join(f"{count} × {ENGLISH.refusal(code)}" for code, count in event["refusals"].items())
        parts.append(f"[red]refused:[/red] {escape(refused)}")
    return "  ".join(parts)


def _privacy(told: Told | None) -> dict[str, str]:
    """What is guaranteed, and what a budget leaves of it; nothing without [privacy]."""
    if told is None:
        return {}
    budget = f" Budget: epsilon {told['budget']:g}." if told["budget"] else ""
    return {"privacy": escape(told["sentence"]) + budget}


def _figures(version: Told) -> str:
    measured = version["evaluation"]
    if measured is None:
        return f"loss while training {ENGLISH.decimal(version['loss'])}"
    texts = [
        f"{escape(ENGLISH.label(name)).lower()} {_measured(name, value)}"
        for name, value in measured["metrics"].items()
    ]
    return ", ".join([*texts, f"loss {ENGLISH.decimal(measured['loss'])}"])


def _measured(name: str, value: float) -> str:
    return ENGLISH.percent(value) if name == "accuracy" else ENGLISH.decimal(value)


def _state(one: Told) -> str:
    if one["trouble"] is not None:
        return f"[red]paused:[/red] {escape(one['trouble'])}"
    colour = {"training": "green", "finished": "dim"}.get(one["phase"], "default")
    return f"[{colour}]{ENGLISH.standing(one)}[/{colour}]"
