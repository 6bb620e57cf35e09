"""Parses the server's address that a person typed, and queries the server about its tasks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlsplit

import httpx
import msgspec
from msgspec import Struct

from backend.errors import PeerError, UnreachableError
from backend.formats.network_address import Reach, reach_of
from backend.formats.task_file import VolunteerData
from backend.numerics.preprocess.fitted import Fitted
from backend.peer.data.url_data import FetchedUrlData
from backend.wire.messages import Aggregation


@dataclass(frozen=True)
class ServerAddress:
    """A server's root without a final slash, and the task that the address named, if any.

    `invitation` is the code after the # in the address of an invitation.
    """

    root: str
    task: str | None
    invitation: str | None = field(default=None, repr=False)

    def reach(self, choice: Choice) -> Reach:
        """Returns how far addresses of other peers may lead: as far as this one, or as the task says."""
        reach = reach_of(urlsplit(self.root).hostname or "")
        return "lan" if choice.lan and reach == "public" else reach

    def socket(self, task: str) -> str:
        """Returns the address of the task's WebSocket."""
        return f"ws{self.root.removeprefix('http')}/api/tasks/{task}/socket"


class Choice(Struct, frozen=True):
    """A task of the server, and the scheme that coordinates it.

    `aggregation` lists how updates may be added up. `lan` allows the peers of a mesh to connect to each other
    within a local network. `brings` is the kind of data that volunteers bring, if any. `needs_clients` says
    whether the task is under way.
    """

    name: str
    scheme: str
    lan: bool = False
    aggregation: tuple[Aggregation, ...] = ("open",)
    bundle: str = ""
    brings: str | None = None
    needs_clients: bool = True
    newcomers: str = "open"


class _Tasks(Struct, frozen=True):
    tasks: list[Choice]


class _Invited(Struct, frozen=True):
    task: str


class _Error(Struct, frozen=True):
    message: str


class _Refused(Struct, frozen=True):
    error: _Error


class TaskData(Struct, frozen=True):
    """The source of a task's examples.

    `volunteer` describes the data that each volunteer brings; `url` names the files that all clients fetch.
    """

    source: Literal["shards", "volunteer", "url"]
    preprocess: Fitted | None
    volunteer: VolunteerData | None
    url: FetchedUrlData | None = None


class BackendFit(Struct, frozen=True):
    """Where a backend can train the model: `everywhere`, on `some devices` or `nowhere`."""

    backend: str
    eligible: str


class StepNeeds(Struct, frozen=True):
    """The bytes that one training step takes at its peak."""

    peak: int


class ModelNeeds(Struct, frozen=True):
    """What a task's model needs of a device; `program` is the one with the same bits everywhere, if any."""

    memory: StepNeeds
    backends: list[BackendFit]
    program: str | None = None


def parse_address(address: str) -> ServerAddress:
    """Parses a site's root, the address of a task's page, or an invitation; `http://` is optional.

    Raises PeerError when it is no web address.
    """
    text = address if "://" in address else f"http://{address}"
    try:
        parts = urlsplit(text)
        port_is_good = parts.port is None or parts.port > 0
    except ValueError:
        port_is_good = False
    if not port_is_good or parts.scheme not in ("http", "https") or not parts.hostname:
        raise PeerError(f"'{address}' is no address of a Minga server; write it like http://127.0.0.1:8000.")
    path, marker, suffix = parts.path.partition("/tasks/")
    task = suffix.split("/")[0] if marker else None
    invitation = None
    if not marker and path.endswith("/join"):
        path, invitation = path.removesuffix("/join"), parts.fragment or None
    return ServerAddress(f"{parts.scheme}://{parts.netloc}{path.rstrip('/')}", task or None, invitation)


def visitor_headers(token: str) -> dict[str, str]:
    """Returns the cookies by which a server recognises a client that it admitted before.

    They are derived from the client's secret token.
    """
    visitor = hashlib.sha256(b"minga visitor " + token.encode()).hexdigest()
    # Over https the server reads the second name, which browsers protect better.
    return {"Cookie": f"minga_visitor={visitor}; __Host-minga_visitor={visitor}"}


async def accept_invitation(client: httpx.AsyncClient, server: ServerAddress) -> ServerAddress:
    """Redeems the invitation for the visitor that `client` names; returns the address with its task.

    Raises PeerError for an invalid invitation, and UnreachableError when the server does not answer.
    """
    try:
        response = await client.post(f"{server.root}/api/join", json={"code": server.invitation})
    except httpx.TransportError as error:
        raise UnreachableError(f"{server.root} does not answer ({error or type(error).__name__}).") from error
    if response.status_code >= 500 or response.status_code == 429:
        raise UnreachableError(f"{server.root} answers {response.status_code}.")
    try:
        if response.status_code == 200:
            return replace(server, task=msgspec.json.decode(response.content, type=_Invited).task)
        raise PeerError(msgspec.json.decode(response.content, type=_Refused).error.message)
    except msgspec.DecodeError as error:
        raise PeerError(f"{server.root} is no Minga server; check the address.") from error


async def list_tasks(client: httpx.AsyncClient, server: ServerAddress) -> list[Choice]:
    """Returns the tasks that the server lists for this client.

    Raises PeerError when the address is not of a Minga server, and UnreachableError when it does not answer.
    """
    content = await _get(client, server, "/api/tasks")
    try:
        return msgspec.json.decode(content, type=_Tasks).tasks
    except msgspec.DecodeError as error:
        raise PeerError(f"{server.root} is no Minga server; check the address.") from error


async def choose_task(client: httpx.AsyncClient, server: ServerAddress, name: str | None) -> Choice:
    """Returns the task called `name`, or the task in the address, or the only task of the site.

    Raises PeerError when there is no such task or the address is not of a Minga server, and UnreachableError
    when the server does not answer.
    """
    tasks = {task.name: task for task in await list_tasks(client, server)}
    name = name or server.task
    offer = f"{server.root} has {_task_list(list(tasks))}"
    if name is None:
        if len(tasks) != 1:
            raise PeerError(f"{offer}; choose one with --task NAME.")
        return next(iter(tasks.values()))
    if name not in tasks:
        raise PeerError(f"There is no task '{name}': {offer}.")
    return tasks[name]


async def task_data(client: httpx.AsyncClient, server: ServerAddress, task: str) -> TaskData:
    """Returns the source of the task's examples, and the requirements for volunteers' own data.

    Raises PeerError for an answer that cannot be decoded, and UnreachableError when the server does not
    answer.
    """
    content = await _get(client, server, f"/api/tasks/{task}/data")
    try:
        return msgspec.json.decode(content, type=TaskData)
    except msgspec.DecodeError as error:
        raise PeerError(
            f"{server.root} describes the data of {task} in an unknown form ({error}); install the server's "
            "version of Minga."
        ) from error


async def model_needs(client: httpx.AsyncClient, server: ServerAddress, task: str) -> ModelNeeds:
    """Returns what the task's model needs of a device.

    Raises PeerError for an answer that cannot be decoded, and UnreachableError when the server does not
    answer.
    """
    content = await _get(client, server, f"/api/tasks/{task}/model")
    try:
        return msgspec.json.decode(content, type=ModelNeeds)
    except msgspec.DecodeError as error:
        raise PeerError(
            f"{server.root} describes the model of {task} in an unknown form ({error})."
        ) from error


async def _get(client: httpx.AsyncClient, server: ServerAddress, path: str) -> bytes:
    try:
        response = await client.get(f"{server.root}{path}")
    except httpx.TransportError as error:
        raise UnreachableError(f"{server.root} does not answer ({error or type(error).__name__}).") from error
    if response.status_code >= 500:
        raise UnreachableError(f"{server.root} answers {response.status_code}.")
    return response.content


def _task_list(names: list[str]) -> str:
    if not names:
        return "no tasks"
    return f"the task {names[0]}" if len(names) == 1 else f"the tasks {', '.join(sorted(names))}"
