"""`minga peer join`: takes part in a task with TensorFlow."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import random
import signal
import sys
from collections.abc import Coroutine
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from backend.errors import PeerError

T = TypeVar("T")

CACHE = Path("~/.cache/minga/blobs")


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    peer: argparse.ArgumentParser = subparsers.add_parser(
        "peer", help="take part with TensorFlow, without a browser"
    )
    actions = peer.add_subparsers(dest="action", metavar="ACTION", required=True)
    join = actions.add_parser("join", help="join a task and train until it is finished or you stop it")
    join.add_argument("url", metavar="URL", help="address of the site or of the task's page")
    join.add_argument("--task", metavar="NAME", help="the task, where the address does not say it")
    join.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: a GPU if there is one"
    )
    join.add_argument(
        "--cache-dir", type=Path, default=CACHE, metavar="DIR", help=f"for downloads, default {CACHE}"
    )
    join.add_argument(
        "--data", type=Path, metavar="PATH", help="your own examples, where the task needs them: never sent"
    )
    join.add_argument("--json", action="store_true", help="report in JSON, a line each")
    join.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Takes part until the task is finished, or SIGINT or SIGTERM ends it in good order."""
    for module in ("tensorflow", "httpx"):
        if importlib.util.find_spec(module) is None:
            raise PeerError(f"A peer needs {module}: run `pip install 'minga[peer]'` and try again.")
    # TensorFlow's notices on standard error would disturb the display.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    busy = asyncio.run(_join(args))
    if busy:
        # A long step of TensorFlow cannot be interrupted, and nobody waits for it any more.
        sys.stdout.flush()
        os._exit(0)
    return 0


async def _join(args: argparse.Namespace) -> bool:
    """Returns whether TensorFlow is still at work."""
    import httpx

    from backend.peer.blobs import Blobs
    from backend.peer.bringing import bring
    from backend.peer.identity import STATE, machine_token
    from backend.peer.jobs import Jobs
    from backend.peer.progress import make_reporter
    from backend.peer.session import Session
    from backend.peer.site import choose_task, parse_address, patiently, task_data
    from backend.peer.variates import Variates
    from backend.wire.messages import Hello

    site = parse_address(args.url)
    stop = _stop_on_signals()
    async with httpx.AsyncClient(timeout=30.0) as client:
        with make_reporter(args.json) as reporter, machine_token(STATE.expanduser()) as token:
            choosing = patiently(lambda: choose_task(client, site, args.task), reporter)
            task = await _unless(stop, choosing)
            if task is None:
                return False
            asking = patiently(lambda: task_data(client, site, task), reporter)
            data = await _unless(stop, asking)
            own = await _unless(stop, bring(data, args.data, reporter, stop.is_set)) if data else None
            if stop.is_set():
                return False
            reporter.tell("joining", f"Joining {task} at {site.root}.", task=task)
            agent = f"minga-peer {_version()}"
            hello = Hello(token=token, kind="peer", backend="tensorflow", agent=agent)
            blobs = Blobs(client, site.root, args.cache_dir.expanduser())
            variates = Variates(STATE.expanduser() / "variates")
            jobs = Jobs(blobs, args.device, variates, own.for_bundle if own else None)
            await Session(site.socket(task), hello, jobs, reporter, random.random).run(stop)
            return jobs.busy


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """The result of `work`, or None when `stop` is set before."""
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if working.done():
        return working.result()
    working.cancel()
    return None


def _stop_on_signals() -> asyncio.Event:
    """An event that SIGINT and SIGTERM set. Handlers of `signal` work everywhere, unlike the loop's own."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
    return stop


def _version() -> str:
    try:
        return version("minga")
    except PackageNotFoundError:
        return "from source"
