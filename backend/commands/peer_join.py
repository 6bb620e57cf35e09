"""Joins the task, or the tasks in turn, that the arguments of `minga peer join` choose."""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from backend.errors import PeerError
from backend.wire.mesh_fields import Way
from backend.wire.messages import Welcome

if TYPE_CHECKING:
    # httpx is of the extra `peer`, and the sessions load much.
    import httpx

    from backend.peer.session.identity import ClientIdentity
    from backend.peer.session.join import JoinedSession, JoinOptions
    from backend.peer.session.progress import Reporter
    from backend.peer.session.server_address import Choice, ServerAddress

T = TypeVar("T")

# Seconds of work at one task of several before the next: loading a model again costs a few.
DEFAULT_TURN = 600.0

# The kinds of links that each choice tries, best first; the relay is the last resort.
WAYS: dict[str, list[Way]] = {
    "auto": ["websocket", "webrtc", "relay"],
    "webrtc": ["webrtc", "relay"],
    "websocket": ["websocket", "relay"],
}


async def join(args: argparse.Namespace) -> bool:
    """Takes part until the end; returns whether TensorFlow is still busy."""
    import httpx

    from backend.peer.session.identity import STATE, machine_identity
    from backend.peer.session.preemption import providers, watch
    from backend.peer.session.progress import make_reporter
    from backend.peer.session.retry import retry_start
    from backend.peer.session.server_address import accept_invitation, parse_address, visitor_headers
    from backend.peer.units.options import GIVE_UP_SECONDS

    server = parse_address(args.url)
    options = _options(args)
    # The task's scheme is unknown until the server answers, so the default is that of work units.
    patience = args.give_up_after or GIVE_UP_SECONDS
    state = STATE.expanduser()
    stop = _stop_on_signals()
    with ExitStack() as stack:
        reporter = stack.enter_context(make_reporter(args.json))
        identity = stack.enter_context(machine_identity(state))
        if args.preemptible:
            watching = asyncio.create_task(watch(providers(), stop, reporter))
            stack.callback(watching.cancel)
        headers = visitor_headers(identity.token) if server.invitation else {}
        async with httpx.AsyncClient(timeout=30.0, headers=headers) as client:
            if server.invitation:
                accepting = retry_start(
                    lambda: accept_invitation(client, server), reporter, give_up_after=patience
                )
                invited = await _unless(stop, accepting)
                if invited is None:
                    return False
                server = invited
            peer = _Peer(args, server, options, identity, state, headers, client, reporter, stop, patience)
            return await peer.run()


def _options(args: argparse.Namespace) -> JoinOptions:
    """Returns the options of the arguments. Raises PeerError for two that exclude each other."""
    from backend.peer.mesh.listening import Listening
    from backend.peer.session.join import JoinOptions
    from backend.peer.session.trust_store import read_roster

    if args.address and not args.listen:
        raise PeerError("--address is for the port of --listen; give --listen HOST:PORT too.")
    if args.exact and args.device == "cuda":
        raise PeerError("An exact peer computes on the processor; leave --device out.")
    host, port = args.listen or ("", 0)
    return JoinOptions(
        device=args.device,
        min_masked=args.min_masked,
        min_noise=args.min_noise,
        roster=read_roster(args.roster) if args.roster else None,
        ways=WAYS[args.transport],
        listening=Listening(host, port, args.address) if args.listen else None,
        at_once=args.at_once,
        preemptible=args.preemptible,
        give_up_after=args.give_up_after,
        checkpoint_every=args.checkpoint_every,
        exact=args.exact,
        offline=round(args.offline),
    )


@dataclass
class _Peer:
    """One run of `minga peer join` after the server's address is known."""

    args: argparse.Namespace
    server: ServerAddress
    options: JoinOptions
    identity: ClientIdentity
    state: Path
    headers: Mapping[str, str]
    client: httpx.AsyncClient
    reporter: Reporter
    stop: asyncio.Event
    patience: float
    promises: dict[str, Welcome] = field(default_factory=dict)
    # The session of the last turn.
    session: JoinedSession | None = None

    async def run(self) -> bool:
        """Takes part; returns whether TensorFlow is still busy."""
        from backend.peer.session.server_address import choose_task, list_tasks

        args = self.args
        if args.key is not None and not await self._link(args.key):
            return False
        if (args.task or self.server.task) is None:
            tasks = await self._retry(lambda: list_tasks(self.client, self.server))
            if tasks is None:
                return False
            if len(tasks) > 1 or args.any or args.share:
                await self._rotate([task.name for task in tasks])
                return self.session is not None and self.session.jobs.busy
        elif args.any or args.share or args.turn:
            raise PeerError("--any, --share and --turn are for several tasks; leave them out, or the task.")
        task = await self._retry(lambda: choose_task(self.client, self.server, args.task))
        if task is None or (session := await self._begin(task, self.options)) is None:
            return False
        await session.run(self.stop)
        return session.jobs.busy

    async def _link(self, path: Path) -> bool:
        """Links this machine to the others of its volunteer; returns False once the peer is to stop."""
        from backend.peer.session.devices_key import link_device, read_devices_key

        key, token = read_devices_key(path), self.identity.token
        count = await self._retry(lambda: link_device(self.client, self.server, key, token, self.args.name))
        if count is None:
            return False
        devices = "1 device is" if count == 1 else f"{count} devices are"
        self.reporter.tell("linked-device", f"{devices} linked by your key.", devices=count)
        return True

    async def _rotate(self, tasks: list[str]) -> None:
        """Takes part in the tasks that need this peer, one after the other."""
        from backend.peer.session.needy_tasks import NeedyTasks
        from backend.peer.session.task_rotation import TaskRotation
        from backend.protocols.client.task_shares import TaskShares

        args, shares = self.args, dict(self.args.share)
        for flag in ("data", "listen"):
            if getattr(args, flag) is not None:
                raise PeerError(f"--{flag} is for one task: choose it with --task NAME.")
        if unknown := sorted(set(shares) - set(tasks)):
            raise PeerError(f"There is no task '{unknown[0]}' at {self.server.root}; check --share.")
        named = [name for name, share in shares.items() if share]
        needy = NeedyTasks(self.client, self.server, self.options, named, self.reporter)

        async def begin(name: str) -> JoinedSession | None:
            task = needy.choice(name)
            self.session = await self._begin(task, self.options.for_scheme(task.scheme))
            return self.session

        sentence = f"Joining the tasks at {self.server.root} that need this peer."
        self.reporter.tell("rotating", sentence, tasks=len(tasks))
        turn = args.turn or DEFAULT_TURN
        await TaskRotation(needy.ask, begin, TaskShares(shares), self.reporter, turn).run(self.stop)

    async def _begin(self, task: Choice, options: JoinOptions) -> JoinedSession | None:
        """Loads the data that `task` needs; returns its session, None once the peer is to stop."""
        from backend.peer.data.data_requirements import load_local_data, load_url_data
        from backend.peer.session.join import JoinRequest
        from backend.peer.session.server_address import task_data

        args, server, stop = self.args, self.server, self.stop
        data = await self._retry(lambda: task_data(self.client, server, task.name))
        if data is None:
            return None
        cache, host = args.cache_dir.expanduser(), urlsplit(server.root).hostname or ""
        local_data = await _unless(stop, load_local_data(data, args.data, self.reporter, stop.is_set))
        local_data = local_data or await _unless(
            stop, load_url_data(data, cache, host, self.reporter, stop.is_set)
        )
        if stop.is_set():
            return None
        agent = f"minga-peer {_version()}"
        request = JoinRequest(
            server, task, self.identity, agent, self.state, local_data, options, self.headers, self.promises
        )
        session = request.session(self.client, cache, self.reporter)
        self.reporter.tell("joining", f"Joining {task.name} at {server.root}.", task=task.name)
        return session

    async def _retry(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """Returns the result of `work` when the server answers; None once the peer is to stop."""
        from backend.peer.session.retry import retry_start

        return await _unless(self.stop, retry_start(work, self.reporter, give_up_after=self.patience))


async def _unless(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T | None:
    """Returns the result of `work`, or None if `stop` is set first."""
    working, stopping = asyncio.create_task(work), asyncio.create_task(stop.wait())
    await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if working.done():
        return working.result()
    working.cancel()
    return None


def _stop_on_signals() -> asyncio.Event:
    """Returns an event that SIGINT and SIGTERM set.

    `signal` handlers work on every platform, unlike those of the event loop.
    """
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
