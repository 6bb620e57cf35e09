"""What a scheme of training brings to the server, as one value: its host, its socket, its figures, its texts.

Each scheme defines its own in its package; `backend.server.schemes` is the table of them all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from backend.formats.manifest import Manifest
from backend.formats.task_file import Coordination, TaskFile
from backend.server.disclosure.statement import Disclosure, Guarantee
from backend.server.estimates.data_supply import Supply
from backend.server.estimates.reasons import Proposal
from backend.server.estimates.round_costs import Estimate
from backend.server.estimates.traffic import Traffic
from backend.server.hosting.client_link import MeasuredLink
from backend.server.hosting.limits import TaskLimits
from backend.server.hosting.task_host import TaskHost
from backend.server.mesh.ice_servers import IceServers
from backend.server.observers.observer import Observer
from backend.server.tasks.model_inspection import StepTime
from backend.server.tasks.task import Task
from backend.server.units.parameters.server_pool import ParameterDeployment
from backend.server.versions.version_history import VersionHistory
from backend.stores.contracts import AssimilationRecord, VersionRecord
from backend.stores.embedded import Stores
from backend.wire.messages import Chunk

Host = TypeVar("Host", bound=TaskHost)


@dataclass(frozen=True)
class HostServices:
    """What the server gives the host of any task; each scheme takes what it needs.

    `evaluate` says whether the server measures versions, `ice` which servers help peers to reach one another,
    `parameters` where those of work units stand.
    """

    stores: Stores
    evaluate: bool
    observer: Observer
    limits: TaskLimits
    ice: IceServers
    parameters: ParameterDeployment


@dataclass(frozen=True)
class SchemeSocket(Generic[Host]):
    """How clients of a scheme talk to their host.

    `protocol` is the WebSocket's subprotocol, `decode` its codec. The first message is an `opening`, called
    `word`; `join` takes its sender in, and `hear` each message after it. `take` stores a chunk without a turn
    of the host, and says whether it did; None where clients send no chunks.
    """

    protocol: str
    word: str
    opening: type[Any]
    decode: Callable[[bytes | memoryview], Any]
    join: Callable[[Host, Any, MeasuredLink], Awaitable[str]]
    hear: Callable[[Host, str, MeasuredLink, Any], Awaitable[None]]
    take: Callable[[Host, str, MeasuredLink, Chunk], bool] | None = None


class SchemeBoard(Protocol):
    """What the owner of a task watches beside what every dashboard has."""

    async def overview(self) -> dict[str, Any]:
        """The figures (docs/reference/http.md). Raises StoreError."""
        ...


class WeightsDeposits(Protocol):
    """A host to which clients bring whole weights."""

    @property
    def weights_bytes(self) -> int:
        """Length of the model's weights."""
        ...

    def wants(self, address: str) -> bool:
        """Whether the weights with that SHA-256 are to be brought now."""
        ...

    async def deposit(self, address: str, data: bytes | bytearray) -> None:
        """Takes in weights, of the right length, whose SHA-256 is `address`. Raises NotFiniteError."""
        ...


@dataclass(frozen=True)
class Scheme(Generic[Host]):
    """One way for clients to train together; `name` is the `coordination.scheme` of task files."""

    name: str
    socket: SchemeSocket[Host]
    open_host: Callable[[Task, VersionHistory, HostServices], Awaitable[Host]]
    # Makes an earlier version the next one for a reason, or raises OrderError.
    restore: Callable[[Host, int, str], Awaitable[VersionRecord]]

    # The plan in words, who can learn what, what it costs, and which values fit it better.
    describe: Callable[[Coordination], Iterable[str]]
    disclose: Callable[[TaskFile, Guarantee | None], Disclosure]
    estimate: Callable[[TaskFile, Manifest, Traffic, Sequence[StepTime], Supply, int], Estimate]
    propose: Callable[[TaskFile, Manifest, Traffic, Sequence[StepTime], Supply, int], list[Proposal]]

    # What a pass over the data is called, and what a client gets to do at once.
    passes: str
    piece: str
    # What becomes of work that was under way when a server ended, for the owner.
    after_restart: str

    # What only some schemes have: a board of their own on the dashboard, the picture of a mesh, assimilations
    # after a number (the newest so many, all for None), and clients that bring whole weights.
    board: Callable[[Host], SchemeBoard] | None = None
    picture: Callable[[Host], dict[str, Any]] | None = None
    assimilations: Callable[[Host, int, int | None], Awaitable[list[AssimilationRecord]]] | None = None
    deposits: Callable[[Host], WeightsDeposits] | None = None
