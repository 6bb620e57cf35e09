"""Prints tasks and their rounds on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from backend.commands.terminal.tables import indented, listing
from backend.server.tasks.formatting import number, size
from backend.server.tasks.gallery import NOT_BUILT
from backend.web.pages.template_words import ENGLISH, counted

JsonObject = Mapping[str, Any]


def print_tasks(console: Console, summaries: Sequence[JsonObject], problems: Mapping[str, str]) -> None:
    """Prints a line per task, including those that are not served."""
    if not summaries and not problems:
        console.print("This server has no tasks.")
        return
    table = listing("task", "version", ">accuracy", ">here", "state")
    for summary in summaries:
        version = f"{number(summary['version'])} of {number(summary['rounds'])}"
        here = number(summary["participants"])
        table.add_row(summary["name"], version, ENGLISH.percent(summary["accuracy"]), here, _state(summary))
    for name, problem in problems.items():
        text = f"[yellow]not served:[/yellow] {escape(problem)}"
        if problem == NOT_BUILT:
            text = f"[dim]{escape(problem)}[/dim]"
        table.add_row(escape(name), "", "", "", text)
    console.print(indented(table))


def print_task(console: Console, url: str, summary: JsonObject, rounds: Sequence[JsonObject]) -> None:
    """Prints a task's summary and its newest rounds."""
    console.print(Padding(f"[bold]{escape(summary['title'])}[/bold]", (1, 2, 0, 2)))
    console.print(Padding(escape(summary["summary"]), (0, 2, 1, 2)))
    rows = {
        "state": _state(summary),
        "version": f"{number(summary['version'])} of {number(summary['rounds'])}",
        "accuracy": ENGLISH.percent(summary["accuracy"]),
        "here now": counted(summary["participants"], "client"),
        "model": f"{counted(summary['parameters'], 'parameter')}, {size(4 * summary['parameters'])}",
        "examples": number(summary["examples"]),
        **_privacy(summary["privacy"]),
        "page": f"{url}/tasks/{summary['name']}",
        "weights": f"{url}/blobs/{summary['weights']}",
    }
    for name, text in rows.items():
        # Addresses stay on one line so that they can be copied.
        console.print(f"  [cyan]{name:<10}[/cyan]{text}", soft_wrap=True)
    units = summary["scheme"] == "volunteer"
    if rounds:
        console.print(
            f"\n  [bold cyan]The last {counted(len(rounds), 'epoch' if units else 'round')}[/bold cyan]"
        )
    for round_ in rounds:
        console.print(round_line({"event": "round", **round_}, units), soft_wrap=True)


def round_line(event: JsonObject, units: bool = False) -> str:
    """Formats an ended round, or a version measured after its round, as one line of rich markup.

    `units` says that rounds are epochs of work units.
    """
    name = f"{'epoch' if units else 'round'} {event['round']}"
    if event["event"] == "measured":
        head = f"[bold]{name}[/bold]  version {event['version']} measured"
        return f"{head}  {_figures(event)}"
    made = event["made"]
    ended = datetime.fromtimestamp(event["ended"]).astimezone()
    is_today = ended.date() == datetime.now().astimezone().date()
    when = ended.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S")
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


def _privacy(privacy: JsonObject | None) -> dict[str, str]:
    """Returns a row with the privacy guarantee and its budget; empty without [privacy]."""
    if privacy is None:
        return {}
    budget = f" Budget: epsilon {privacy['budget']:g}." if privacy["budget"] else ""
    return {"privacy": escape(privacy["sentence"]) + budget}


def _figures(version: JsonObject) -> str:
    measured = version["evaluation"]
    if measured is None:
        return f"training loss {ENGLISH.decimal(version['loss'])}"
    texts = [
        f"{escape(ENGLISH.label(name)).lower()} {_measured(name, value)}"
        for name, value in measured["metrics"].items()
    ]
    return ", ".join([*texts, f"loss {ENGLISH.decimal(measured['loss'])}"])


def _measured(name: str, value: float) -> str:
    return ENGLISH.percent(value) if name == "accuracy" else ENGLISH.decimal(value)


def _state(summary: JsonObject) -> str:
    if summary["trouble"] is not None:
        return f"[red]paused:[/red] {escape(summary['trouble'])}"
    colour = {"training": "green", "finished": "dim"}.get(summary["phase"], "default")
    return f"[{colour}]{ENGLISH.standing(summary)}[/{colour}]"
