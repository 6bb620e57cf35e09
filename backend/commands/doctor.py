"""`minga peer doctor`: tests which links to other peers this machine's network allows."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
from contextlib import ExitStack
from typing import Any

from backend.commands.terminal.progress import TerminalProgress
from backend.errors import PeerError

_MARKS = {True: "+", False: "-", None: "·"}


def register(actions: Any, listen: Any, address: Any) -> None:
    """Adds the action; `listen` and `address` parse the values of these flags."""
    doctor = actions.add_parser(
        "doctor",
        help="check how other peers of a task can reach this machine",
        examples=("minga peer doctor https://minga.example.org --task digits",),
    )
    doctor.add_argument("url", metavar="URL", help="address of the site, the task's page or an invitation")
    doctor.add_argument("--task", metavar="NAME", help="the task, if the address does not name it")
    doctor.add_argument(
        "--listen", type=listen, metavar="HOST:PORT", help="as for `join`: check whether it can be reached"
    )
    doctor.add_argument("--address", type=address, metavar="URL", help="with --listen, as for `join`")
    doctor.add_argument("--json", action="store_true", help="report in JSON")
    doctor.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints a sentence for each test; the exit code is 1 if the requested link is not possible."""
    if importlib.util.find_spec("aiortc") is None:
        raise PeerError("A peer needs aiortc: run `pip install 'minga[peer]'` and try again.")
    if args.address and not args.listen:
        raise PeerError("--address is for the port that --listen opens: give both.")
    if args.listen and not args.listen[1]:
        raise PeerError("--listen needs a port for this, like 0.0.0.0:9000.")
    with TerminalProgress("Testing the links that this network allows.", quiet=True):
        results = asyncio.run(_examine(args))
    if args.json:
        print(json.dumps({"findings": results}, indent=1))
    else:
        for result in results:
            print(f"{_MARKS[result['good']]} {result['text']}")
    return int(any(result["about"] == "listen" and result["good"] is False for result in results))


async def _examine(args: argparse.Namespace) -> list[dict[str, Any]]:
    import httpx

    from backend.peer.doctor.findings import sentences
    from backend.peer.doctor.probes import examine
    from backend.peer.mesh.listening import Listening
    from backend.peer.session.identity import STATE, machine_identity
    from backend.peer.session.server_address import (
        accept_invitation,
        choose_task,
        parse_address,
        visitor_headers,
    )

    site, headers = parse_address(args.url), dict[str, str]()
    with ExitStack() as stack:
        if site.invitation:
            # The invitation is accepted for this machine's identity, so `minga peer join` can use it too.
            headers = visitor_headers(stack.enter_context(machine_identity(STATE.expanduser())).token)
        async with httpx.AsyncClient(timeout=30.0, headers=headers) as client:
            if site.invitation:
                site = await accept_invitation(client, site)
            task = await choose_task(client, site, args.task)
    if task.scheme != "decentralized":
        raise PeerError(
            f"In the task {task.name} peers talk with the server only: if its page opens here, a peer can "
            "take part."
        )
    if args.listen:
        host, port = args.listen
        Listening(host, port, args.address).check(site.reach(task))
    findings = await examine(site.socket(task.name), args.listen, args.address, headers)
    return [
        {"about": result.about, "good": result.is_good, "text": result.text} for result in sentences(findings)
    ]
