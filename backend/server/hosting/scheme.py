"""The interface of a training scheme: its host, socket, estimates and texts as one value.

Each scheme defines its own in its package; `backend.server.schemes` is the table of all schemes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from backend.formats.manifest import Manifest
from backend.formats.task_file import Coordination, TaskFile
from backend.server.disclosure.statement import Disclosure, Guarantee
from backend.server.estimates.data_supply import Supply
from backend.server.estimates.reasons import Proposal
from backend.server.estimates.round_costs import Estimate
from backend.server.estimates.traffic import Traffic
from backend.server.hosting.clients.client_link import MeasuredLink
from backend.server.hosting.limits import TaskLimits
from backend.server.hosting.task_host import TaskHost
from backend.server.mesh.ice_servers import IceServers
from backend.server.observers.observer import Observer
from backend.server.rounds.reaggregation.reaggregations import Reaggregations
from backend.server.tasks.model_inspection import StepTime
from backend.server.tasks.task import Task
from backend.server.units.parameters.server_pool import ParameterDeployment
from backend.server.versions.version_history import StoredVersion, VersionHistory
from backend.stores.contracts import AssimilationRecord, VersionRecord
from backend.stores.embedded import Stores
from backend.wire.messages import Chunk

Host = TypeVar("Host", bound=TaskHost)


@dataclass(frozen=True)
class HostServices:
    """Services of the server for the host of any task; each scheme uses those that it needs.

    `evaluate` says whether the server measures versions. `ice` lists the servers that help peers to connect
    to one another. `parameters` says where the parameters of work-unit tasks are stored. The server tries
    another rule on kept updates of one task at a time, which takes `reaggregation_slot`.
    """

    stores: Stores
    evaluate: bool
    observer: Observer
    limits: TaskLimits
    ice: IceServers
    parameters: ParameterDeployment
    reaggregation_slot: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))


@dataclass(frozen=True)
class SchemeSocket(Generic[Host]):
    """The socket between clients of a scheme and their host.

    `protocol` is the WebSocket's subprotocol, `decode` its codec. The first message has the type `opening`,
    called `word`; `join` admits its sender, and `hear` handles each later message. `take` stores a chunk
    without an event in the host's mailbox and returns whether it did; None if clients send no chunks.
    """

    protocol: str
    word: str
    opening: type[Any]
    decode: Callable[[bytes | memoryview], Any]
    join: Callable[[Host, Any, MeasuredLink], Awaitable[str]]
    hear: Callable[[Host, str, MeasuredLink, Any], Awaitable[None]]
    take: Callable[[Host, str, MeasuredLink, Chunk], bool] | None = None


class SchemeBoard(Protocol):
    """The scheme's part of the owner's dashboard, beside the common figures."""

    async def overview(self) -> dict[str, Any]:
        """Returns the figures (docs/reference/http.md). Raises StoreError."""
        ...


class WeightsDeposits(Protocol):
    """A host to which clients upload whole weights."""

    @property
    def weights_bytes(self) -> int:
        """Length of the model's weights, in bytes."""
        ...

    def wants(self, address: str) -> bool:
        """Whether the host expects the weights with the SHA-256 `address` now."""
        ...

    async def deposit(self, address: str, data: bytes | bytearray) -> None:
        """Stores weights of the right length with the SHA-256 `address`. Raises NotFiniteError."""
        ...


@dataclass(frozen=True)
class Scheme(Generic[Host]):
    """A training scheme; `name` is the `coordination.scheme` of task files."""

    name: str
    socket: SchemeSocket[Host]
    open_host: Callable[[Task, VersionHistory, HostServices], Awaitable[Host]]
    # Restores an earlier version as the next one for a reason, or raises OrderError.
    restore: Callable[[Host, int, str], Awaitable[VersionRecord]]
    # Records an earlier version as the next one of an ended task, for a reason and at a time of day.
    record_again: Callable[[Host, StoredVersion, str, float], Awaitable[VersionRecord]]

    # The plan in words, the disclosure, the cost estimate, and proposals of better values.
    describe: Callable[[Coordination], Iterable[str]]
    disclose: Callable[[TaskFile, Guarantee | None], Disclosure]
    estimate: Callable[[TaskFile, Manifest, Traffic, Sequence[StepTime], Supply, int], Estimate]
    propose: Callable[[TaskFile, Manifest, Traffic, Sequence[StepTime], Supply, int], list[Proposal]]

    # The words for a pass over the data, and for the work that a client gets in one assignment.
    passes: str
    piece: str
    # Tells the owner what happens to work that was in progress when a server ended.
    after_restart: str

    # Parts that only some schemes have: a board on the dashboard, the picture of a mesh, the newest
    # assimilations after a number (all for None), the facts of a unit, clients that upload whole weights, and
    # tries of another rule on kept updates (None where the task keeps none).
    board: Callable[[Host], SchemeBoard] | None = None
    picture: Callable[[Host], dict[str, Any]] | None = None
    assimilations: Callable[[Host, int, int | None], Awaitable[list[AssimilationRecord]]] | None = None
    unit_facts: Callable[[Host, int], Awaitable[dict[str, Any]]] | None = None
    deposits: Callable[[Host], WeightsDeposits] | None = None
    reaggregations: Callable[[Host], Reaggregations | None] | None = None
    # How often training visits each credited example; None where each visit is credited.
    visits: Callable[[Task], float] | None = None
