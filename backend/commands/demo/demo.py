"""`minga demo`: runs a server with the task `digits` and a peer, for your browsers or headless ones."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import io
import json
import signal
import socket
import time
from collections.abc import Coroutine
from typing import Any
from urllib.parse import urlsplit

import segno
from rich.console import Console

from backend.commands.demo.processes import TASK, Ensemble, Row
from backend.commands.terminal.progress import TerminalProgress
from backend.errors import DemoError
from backend.settings import HOST, PORT, assets_folder

BACKENDS = ("wasm", "webgl")
INTERRUPTED = 130
# Without a new version for so long, something is wrong.
ROUND_SECONDS = 300.0
# A browser and a peer make about two rounds a second: a friend's phone shall not come too late.
ROUNDS_FOR_PEOPLE = 300

# Shown at the end of the help.
EXAMPLES = ("minga demo", "minga demo --host 0.0.0.0")


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser("demo", examples=EXAMPLES)
    parser.add_argument("--host", default=HOST, help=f"0.0.0.0 lets your network join; default {HOST}")
    parser.add_argument("--port", type=int, help=f"default {PORT}, or a free one with --headless")
    parser.add_argument(
        "--headless", action="store_true", help="two headless browsers train instead of yours"
    )
    parser.add_argument("--rounds", type=int, default=15, metavar="N", help="with --headless; default 15")
    parser.add_argument(
        "--json", action="store_true", help="with --headless: report as JSON, one line per event"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs until Ctrl-C, or with --headless until the rounds are done."""
    return asyncio.run(_until_signal(_headless(args) if args.headless else _for_people(args)))


async def _until_signal(work: Coroutine[Any, Any, int]) -> int:
    """Runs `work` and returns its exit code.

    The first signal cancels it, which stops its child processes; later signals do nothing.
    """
    task = asyncio.ensure_future(work)
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, interrupt)
    try:
        return await task
    except asyncio.CancelledError:
        return INTERRUPTED


async def _for_people(args: argparse.Namespace) -> int:
    """Serves until Ctrl-C. The peer may end earlier, when the task is finished; the server may not."""
    _need("tensorflow", "peer")
    console = Console(highlight=False)
    port = PORT if args.port is None else args.port
    try:
        async with Ensemble() as ensemble:
            announce(console, reachable(args.host, f"http://{HOST}:{port}"))
            rounds = f"{TASK}.coordination.rounds={ROUNDS_FOR_PEOPLE}"
            with TerminalProgress("  Starting the server.", quiet=True) as progress:
                url = await ensemble.start_server(args.host, port, rounds)
                progress.step("  The server is up. Starting the peer, which loads TensorFlow.")
                await ensemble.start_peer(url)
            welcome(console, reachable(args.host, url))
            async for row in ensemble.versions(url, patience=None):
                console.print(f"  {_sentence(row)}")
                if row["round"] == row["rounds"]:
                    console.print(
                        "\n  The task is finished. Draw a digit on its page; Ctrl-C ends the demo.\n"
                    )
    except asyncio.CancelledError:
        console.print("\n  The demo has ended.\n")
        return 0
    raise DemoError("The demo ended unexpectedly; please report it.")


async def _headless(args: argparse.Namespace) -> int:
    """Trains `args.rounds` rounds with two headless browsers and a peer, and reports."""
    _need("tensorflow", "peer")
    _need("playwright", "demo")
    began = time.monotonic()
    if not args.json:
        print("Starting a server, a peer and two browsers. The first round takes about a minute.", flush=True)
    settings = (
        f"{TASK}.coordination.min_available_clients=3",
        f"{TASK}.coordination.rounds={args.rounds}",
        # Nobody is late: with few cores, a browser's first round may take minutes.
        f"{TASK}.coordination.deadline={ROUND_SECONDS / 2}",
        f"{TASK}.coordination.adaptive_deadline=false",
    )
    async with Ensemble() as ensemble:
        url = await ensemble.start_server(HOST, args.port or 0, *settings)
        await asyncio.gather(
            ensemble.start_peer(url), *(ensemble.start_volunteer(url, backend) for backend in BACKENDS)
        )
        accuracy = None
        async for row in ensemble.versions(url, patience=ROUND_SECONDS):
            accuracy = row["accuracy"]
            shown = {key: row[key] for key in ("round", "version", "accepted", "accuracy")}
            print(json.dumps(shown) if args.json else _sentence(row), flush=True)
            if row["version"] == args.rounds:
                break
        credit = await ensemble.contributions(url)
    summary = {
        "test_accuracy": accuracy,
        "rounds": args.rounds,
        "accepted_by_participant": credit,
        "seconds": round(time.monotonic() - began, 1),
    }
    print(json.dumps(summary) if args.json else _closing(summary), flush=True)
    return 0


def _need(module: str, extra: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise DemoError(f"The demo needs {module}: run `pip install 'minga[{extra},convert]'` and try again.")


def reachable(host: str, url: str) -> str:
    """Returns an address that other devices can open.

    It is this machine's network address if the server listens on all interfaces, else `url`.
    """
    if host not in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        return url
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Connecting a datagram socket sends nothing; it only asks the system for a route.
            probe.connect(("192.0.2.1", 9))
            return f"http://{probe.getsockname()[0]}:{urlsplit(url).port}"
        except OSError:
            return url


def announce(console: Console, url: str) -> None:
    """Prints what will happen, what to do and how to stop, while the server that will be at `url` starts."""
    page = f"{url}/tasks/{TASK}/train" if urlsplit(url).port else "the address that appears below"
    console.print(
        "\n  [bold]A server, a task with handwritten digits and a TensorFlow peer start here.[/bold]"
    )
    console.print("  It takes ten seconds, or a minute the first time, when the model is built.\n")
    console.print("  What to do     open this address and press [bold]Start training[/bold]:")
    console.print(f"                 [cyan]{page}[/cyan]", soft_wrap=True)
    console.print("  What you see   a line for each version here, and its accuracy grow")
    console.print("  How to stop    Ctrl-C ends everything and leaves nothing behind\n")


def welcome(console: Console, url: str) -> None:
    """Prints instructions when the server at `url` is ready, with a QR code if phones can reach it."""
    page = f"{url}/tasks/{TASK}/train"
    alone = urlsplit(url).hostname in ("127.0.0.1", "localhost")
    console.print(f"\n  [bold]Minga[/bold] is open at [bold cyan]{url}[/bold cyan]\n")
    if not alone:  # A code with a loopback address would make a phone connect to itself.
        code = io.StringIO()
        segno.make(page, error="l").terminal(code, compact=True, border=2)
        console.out(code.getvalue())
    console.print(f"  1. Open [cyan]{page}[/cyan] and press [bold]Start training[/bold].")
    console.print("  2. Your browser and a TensorFlow peer here train one network together.")
    if alone:
        restart = 'make demo ARGS="--host 0.0.0.0"' if _in_checkout() else "minga demo --host 0.0.0.0"
        console.print("  3. For phones and computers in your network, end this and start again with")
        console.print(f"     {restart}")
    else:
        console.print("  3. Phones and computers in your network join with the code above.")
    console.print("\n  Ctrl-C ends everything.\n")


def _in_checkout() -> bool:
    return (assets_folder() / "Makefile").is_file()


def _sentence(row: Row) -> str:
    updates = "1 update" if row["accepted"] == 1 else f"{row['accepted']} updates"
    accuracy = "not measured" if row["accuracy"] is None else f"{100 * row['accuracy']:.1f} % right"
    return f"Round {row['round']}: version {row['version']} from {updates}, {accuracy} on held-out digits."


def _closing(summary: dict[str, Any]) -> str:
    shares = ", ".join(f"{name} {count}" for name, count in summary["accepted_by_participant"].items())
    right = 100 * summary["test_accuracy"]
    done = f"{summary['rounds']} rounds, {summary['seconds']} s"
    return f"{right:.1f} % right after {done}. Accepted updates: {shares}."
