"""`minga peer join`: participates in a task with TensorFlow."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from backend.commands import doctor, peer_evidence, peer_join
from backend.errors import PeerError
from backend.peer.training.freed_memory import keep_freed_memory
from backend.wire.masked_messages import MOST_MEMBERS
from backend.wire.mesh_fields import Address
from backend.wire.unit_messages import MOST_SLOTS

CACHE = Path("~/.cache/minga/blobs")
MAX_SECONDS = 366 * 86_400
MAX_SHARE = 1000.0
MAX_NAME = 64
# Shown at the end of the help.
EXAMPLES = ("minga peer join https://minga.example.org --task digits",)


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    peer: argparse.ArgumentParser = subparsers.add_parser("peer", examples=EXAMPLES)
    actions = peer.add_subparsers(dest="action", metavar="ACTION", required=True)
    join = actions.add_parser(
        "join",
        help="join a task and train until it is finished or you stop it",
        examples=(
            "minga peer join https://minga.example.org --task digits",
            "minga peer join http://127.0.0.1:8000/tasks/digits --device cpu",
            "minga peer join https://minga.example.org --share vision=2 --share text=1",
        ),
    )
    join.add_argument("url", metavar="URL", help="address of the site, the task's page or an invitation")
    join.add_argument(
        "--task",
        metavar="NAME",
        help="the task, if the address names none; default: any that needs you",
    )
    join.add_argument(
        "--share",
        type=_share,
        action="append",
        default=[],
        metavar="NAME=N",
        help="with several tasks: the task's share of this peer's time, default 1; 0 leaves it out. "
        "May be repeated",
    )
    join.add_argument(
        "--turn",
        type=_seconds,
        metavar="SECONDS",
        help="with several tasks: work at one for this long before the next, default 600",
    )
    join.add_argument(
        "--any",
        action="store_true",
        help="join any task that needs this peer, even if the site has only one now",
    )
    join.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="default: a GPU if there is one"
    )
    join.add_argument(
        "--cache-dir", type=Path, default=CACHE, metavar="DIR", help=f"for downloads, default {CACHE}"
    )
    join.add_argument(
        "--data", type=Path, metavar="PATH", help="your own examples, where the task needs them: never sent"
    )
    join.add_argument(
        "--min-masked",
        type=_clients,
        metavar="N",
        help="take part only if updates are masked among at least N clients",
    )
    join.add_argument(
        "--min-noise",
        type=_noise,
        metavar="X",
        help="take part only if this peer itself adds noise of at least X times the clip",
    )
    join.add_argument("--roster", type=Path, metavar="FILE", help="identities of the only clients to trust")
    join.add_argument(
        "--transport",
        choices=tuple(peer_join.WAYS),
        default="auto",
        help="in a decentralized task: how to reach other peers, default auto",
    )
    join.add_argument(
        "--listen",
        type=_listen,
        metavar="HOST:PORT",
        help="accept WebSockets of other peers there (port 0: any)",
    )
    join.add_argument(
        "--address",
        type=_address,
        metavar="URL",
        help="with --listen: the ws:// or wss:// address for other peers, if not HOST:PORT",
    )
    join.add_argument(
        "--at-once",
        type=_units,
        metavar="N",
        help="in a task of work units: train N units at the same time, default 1",
    )
    join.add_argument(
        "--exact",
        action="store_true",
        help="train with the browsers' worker in Node.js instead of TensorFlow, for the same bits as "
        "browsers",
    )
    join.add_argument(
        "--preemptible",
        action="store_true",
        help="this machine may be reclaimed: watch for its provider's notice (Amazon EC2, Google Compute "
        "Engine, Microsoft Azure)",
    )
    join.add_argument(
        "--give-up-after",
        type=_seconds,
        metavar="SECONDS",
        help="exit when the server does not answer at first, or stays away from work units, for this long; "
        "default 3600",
    )
    join.add_argument(
        "--checkpoint-every",
        type=_interval,
        metavar="SECONDS",
        help="in a task of work units: write the state of each unit in training this often, to continue "
        "after a crash; 0 never; default 30",
    )
    join.add_argument(
        "--offline",
        type=_interval,
        default=0.0,
        metavar="SECONDS",
        help="in a task of work units: hold as many units as this machine trains in this time, and keep "
        "them, so that it can work without a connection; at most what the task allows",
    )
    join.add_argument(
        "--key",
        type=Path,
        metavar="FILE",
        help="the secret key of your devices: contributions of all that have it are added up",
    )
    join.add_argument(
        "--name",
        type=_name,
        default="",
        metavar="NAME",
        help="with --key: this device in the list of yours",
    )
    join.add_argument("--json", action="store_true", help="report as JSON, one line per event")
    join.set_defaults(run=run)
    doctor.register(actions, _listen, _address)
    peer_evidence.register(actions)
    identity = actions.add_parser(
        "identity",
        help="print this peer's identity, for others' rosters",
        examples=("minga peer identity",),
    )
    identity.set_defaults(run=print_identity)
    key = actions.add_parser(
        "key",
        help="print the secret key of your devices, making one on first use",
        examples=("minga peer key",),
    )
    key.set_defaults(run=print_devices_key)


def _listen(text: str) -> tuple[str, int]:
    """Parses a host and port to listen at."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is no HOST:PORT, like 192.0.2.7:9000")
    return host.strip("[]"), int(port)


def _address(text: str) -> str:
    """Parses the WebSocket address that other peers use."""
    try:
        msgspec.convert(text, Address)
    except msgspec.ValidationError as error:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no address like wss://peer.example.org:9000; write host and port, and no path"
        ) from error
    return text


def _clients(text: str) -> int:
    """Parses a number of clients for a masked round."""
    if not text.isdigit() or not 3 <= int(text) <= MOST_MEMBERS:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 3 to {MOST_MEMBERS}")
    return int(text)


def _noise(text: str) -> float:
    """Parses a multiple of the clip for the noise that clients add."""
    try:
        noise = float(text)
    except ValueError:
        noise = 0.0
    if not 0.0 < noise < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is no number over 0 and under a million")
    return noise


def _units(text: str) -> int:
    """Parses a number of units to train at the same time; one slot remains for the unit being fetched."""
    if not text.isdigit() or not 1 <= int(text) < MOST_SLOTS:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 to {MOST_SLOTS - 1}")
    return int(text)


def _share(text: str) -> tuple[str, float]:
    """Parses a task's name and its share of the time."""
    name, _, share = text.partition("=")
    try:
        number = float(share)
    except ValueError:
        number = -1.0
    if not name or not 0.0 <= number <= MAX_SHARE:
        raise argparse.ArgumentTypeError(f"'{text}' is no NAME=N with N from 0 to {MAX_SHARE:.0f}")
    return name, number


def _name(text: str) -> str:
    """Parses the name of a device."""
    if len(text) > MAX_NAME:
        raise argparse.ArgumentTypeError(f"'{text}' has more than {MAX_NAME} characters")
    return text


def _seconds(text: str) -> float:
    """Parses a waiting time in seconds."""
    if not text.isdigit() or not 1 <= int(text) <= MAX_SECONDS:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds from 1 to {MAX_SECONDS}")
    return float(text)


def _interval(text: str) -> float:
    """Parses the seconds between two checkpoints, 0 for none."""
    return 0.0 if text == "0" else _seconds(text)


def print_identity(_: argparse.Namespace) -> int:
    """Prints the public key by which other clients know this machine's peer."""
    from backend.peer.session.identity import STATE, stored_identity

    try:
        print(stored_identity(STATE.expanduser()).public)
    except OSError as error:
        raise PeerError(f"The identity cannot be saved: {error}. Make {STATE} writable.") from error
    return 0


def print_devices_key(_: argparse.Namespace) -> int:
    """Prints the key by which a volunteer's devices are known together."""
    from backend.peer.session.devices_key import stored_devices_key
    from backend.peer.session.identity import STATE

    try:
        print(stored_devices_key(STATE.expanduser()))
    except OSError as error:
        raise PeerError(f"The key cannot be saved: {error}. Make {STATE} writable.") from error
    return 0


def run(args: argparse.Namespace) -> int:
    """Participates until the task is finished, or until SIGINT or SIGTERM stops it in order."""
    for module in ("httpx",) if args.exact else ("tensorflow", "httpx"):
        if importlib.util.find_spec(module) is None:
            extra = "exact" if args.exact else "peer"
            raise PeerError(f"A peer needs {module}: run `pip install 'minga[{extra}]'` and try again.")
    # TensorFlow's notices on standard error would disturb the display.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    keep_freed_memory()
    with asyncio.Runner(loop_factory=_new_loop()) as runner:
        busy = runner.run(peer_join.join(args))
    if busy:
        # A long step of TensorFlow cannot be interrupted, and its result is not needed.
        sys.stdout.flush()
        os._exit(0)
    return 0


def _new_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Returns uvloop's factory, which needs a third less time per packet of a link; None on Windows."""
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop
