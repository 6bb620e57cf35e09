"""Defines the scheme of decentralized rounds: peers average among themselves, the server records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from backend.errors import OrderError
from backend.formats.task_file import Coordination
from backend.protocols.rounds.lots import Lots
from backend.server.disclosure.mesh import disclose_mesh
from backend.server.estimates.mesh_checks import described_checks
from backend.server.estimates.round_costs import estimate
from backend.server.estimates.round_proposals import propose
from backend.server.hosting.scheme import HostServices, Scheme, SchemeSocket, WeightsDeposits
from backend.server.mesh.host import MeshHost
from backend.server.mesh.overview import picture
from backend.server.rounds.scheme import describe_rounds
from backend.server.tasks.task import Task
from backend.server.versions.version_history import StoredVersion, VersionHistory
from backend.stores.contracts import VersionRecord
from backend.translation import later
from backend.wire.mesh_codec import decode_to_server
from backend.wire.mesh_fields import MESH_PROTOCOL
from backend.wire.mesh_messages import Enter


async def open_host(task: Task, history: VersionHistory, services: HostServices) -> MeshHost:
    """Opens the host of a decentralized task."""
    return MeshHost(
        task,
        history,
        services.stores.blobs,
        services.evaluate,
        history.lost + 1,
        await history.mesh_groups(),
        observer=services.observer,
        limits=services.limits,
        ice=services.ice,
        lots=Lots(services.stores.secret).of_task(task.file.name, history.run),
    )


async def restore(_host: MeshHost, _number: int, _reason: str) -> VersionRecord:
    """Raises OrderError: the server of a decentralized task cannot replace the model of its peers."""
    raise OrderError(
        "The peers of a decentralized task hold the model themselves: this server cannot roll them back "
        "while they train. Finish the task, then continue it from that version."
    )


async def record_again(host: MeshHost, earlier: StoredVersion, reason: str, now: float) -> VersionRecord:
    """Records an earlier version of an ended task as the next one. Raises StoreError.

    No group made it: what the groups of later versions certify does not follow from it.
    """
    return await host.history.add_again(earlier, reason, now, mesh_groups=[])


def describe_mesh(plan: Coordination) -> Iterator[str]:
    """A plan of rounds among peers in words."""
    yield from describe_rounds(later("Peers average among themselves"), plan)
    yield from described_checks(plan)


def picture_of(host: MeshHost) -> dict[str, Any]:
    """Returns the current peers, links and groups, and what members that check each other agreed on."""
    return picture(host.peers, host.machine, host.carried, host.observer)


def deposits_of(host: MeshHost) -> WeightsDeposits:
    """Returns the host, which accepts the weights that a group of peers averaged."""
    return host


MESH = Scheme(
    name="decentralized",
    socket=SchemeSocket(
        protocol=MESH_PROTOCOL,
        word="enter",
        opening=Enter,
        decode=decode_to_server,
        join=MeshHost.join,
        hear=MeshHost.hear,
    ),
    open_host=open_host,
    describe=describe_mesh,
    disclose=disclose_mesh,
    estimate=estimate,
    propose=propose,
    restore=restore,
    record_again=record_again,
    passes="round",
    piece=later("a round"),
    after_restart="Peers continued among themselves and report their result.",
    picture=picture_of,
    deposits=deposits_of,
)
