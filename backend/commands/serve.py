"""`minga serve`: runs the server with embedded stores."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from starlette.applications import Starlette

from backend.commands.account import sign_in_address
from backend.commands.logs import log_to_stderr
from backend.commands.tasks.task_path import build_command
from backend.commands.terminal.tables import indented, listing
from backend.settings import HOST, PORT, Settings, read_settings
from backend.web.app import build_app
from backend.web.transport.uvicorn_server import address_of, bind, serve

# Shown at the end of the help.
EXAMPLES = ("minga serve --tasks my-task", "minga serve --host 0.0.0.0 --port 8080 --data-dir data")


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser("serve", examples=EXAMPLES)
    parser.add_argument("--host", metavar="HOST", help=f"address to listen on (MINGA_HOST, default {HOST})")
    parser.add_argument("--port", help=f"port, 0 for a free one (MINGA_PORT, default {PORT})")
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="records and models (MINGA_DATA_DIR)")
    parser.add_argument(
        "--tasks",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="folders with tasks (MINGA_TASKS; default the gallery)",
    )
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        metavar="TASK.TABLE.KEY=VALUE",
        help="change one value of a task file, for example digits.coordination.min_available_clients=3",
    )
    parser.add_argument(
        "--hooks", action="store_true", help="let task files run programs on this server (MINGA_HOOKS=1)"
    )
    parser.add_argument(
        "--parameters",
        metavar="ADDRESS",
        help="where parameters of work units are stored: memory, redis://, postgresql:// (MINGA_PARAMETERS)",
    )
    parser.add_argument(
        "--parameter-servers",
        metavar="N",
        help="parameter servers of one task: 3, or a range such as 1-4 (MINGA_PARAMETER_SERVERS)",
    )
    parser.add_argument("--json", action="store_true", help="report as JSON, one line per event")
    parser.add_argument(
        "--metrics-token-file",
        type=Path,
        metavar="FILE",
        help="show /metrics to requests with the token in FILE (MINGA_METRICS_TOKEN_FILE)",
    )
    parser.add_argument(
        "--log-format", metavar="WORD", help="console or json, on standard error (MINGA_LOG_FORMAT)"
    )
    parser.add_argument(
        "--log-level", metavar="WORD", help="debug, info, warning or error (MINGA_LOG_LEVEL, default info)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Serves until a signal stops it."""
    settings = read_settings(vars(args), os.environ)
    log_to_stderr(settings.log_format, settings.log_level)
    app = build_app(settings)
    with bind(settings.host, settings.port) as bound:
        serve(app, bound, lambda: _report(settings, app, address_of(bound)))
    return 0


def _report(settings: Settings, app: Starlette, url: str) -> None:
    registry = app.state.tasks
    summaries = registry.summaries()
    link = sign_in_address(url, app.state.first_link) if app.state.first_link else None
    if settings.json:
        event = {"event": "listening", "url": url, "tasks": summaries, "problems": registry.problems}
        event |= {"owner_link": link} if link else {}
        print(json.dumps(event), flush=True)
        return
    table = listing("task", "version", "state")
    for summary in summaries:
        version = f"{summary['version']} of {summary['rounds']}"
        table.add_row(summary["name"], version, f"[green]{summary['phase']}[/green]")
    unbuilt = {folder.name: folder for folder in registry.unbuilt}
    for name, problem in registry.problems.items():
        if name not in unbuilt:
            table.add_row(name, "", f"[yellow]not served:[/yellow] {escape(problem)}")
    console = Console()
    console.print(f"\n  [bold]Minga[/bold] is open at [bold cyan]{url}[/bold cyan]\n")
    if table.row_count:
        console.print(indented(table))
    if unbuilt:
        words = build_command(list(unbuilt.values()))
        sentence = f"Not built yet: {', '.join(unbuilt)}. To build: {words}"
        console.print(Padding(f"[dim]{escape(sentence)}[/dim]", (1, 0, 0, 2)))
    if link:
        console.print("\n  This server has no owner yet. Open this link once to become its owner:")
        console.print(f"  [bold cyan]{link}[/bold cyan]", soft_wrap=True)
    console.print("\n  Ctrl-C stops it. The next start continues from the last version.\n")
