"""The scheme of work units: each client trains pieces of the data at its own pace."""

from __future__ import annotations

from collections.abc import Iterator

from backend.errors import OrderError
from backend.formats.task_file import Coordination
from backend.formats.task_file.units import name_of
from backend.numerics.aggregation.asynchronous import no_memory
from backend.server.disclosure.units import disclose_units
from backend.server.estimates.unit_costs import estimate_units
from backend.server.estimates.unit_proposals import propose_units
from backend.server.hosting.scheme import HostServices, Scheme, SchemeSocket
from backend.server.tasks.formatting import number
from backend.server.tasks.task import Task
from backend.server.units.board.board import UnitsBoard
from backend.server.units.checkpoint_codec import content_after
from backend.server.units.host import UnitsHost
from backend.server.units.setup import load_restored_state
from backend.server.units.work_generator import visits_a_row
from backend.server.versions.checkpoints import Checkpoint
from backend.server.versions.version_history import StoredVersion, VersionHistory
from backend.stores.contracts import VersionRecord
from backend.translation import gettext, later
from backend.wire.unit_messages import UNITS_PROTOCOL, Enlist
from backend.wire.units_codec import decode_units


async def open_host(task: Task, history: VersionHistory, services: HostServices) -> UnitsHost:
    """Creates the host of a task of work units, with the state that its records hold."""
    return UnitsHost(
        task,
        history,
        services.stores.blobs,
        services.evaluate,
        services.stores.scratch / task.file.name,
        await load_restored_state(task, history),
        observer=services.observer,
        limits=services.limits,
        parameters=services.parameters,
    )


async def restore(_host: UnitsHost, _number: int, _reason: str) -> VersionRecord:
    """Raises OrderError: a version of work units cannot be restored."""
    raise OrderError(
        "Each result of a work unit enters the model immediately, so this server cannot roll back while "
        "units are trained. Finish the task, then continue it from that version."
    )


async def record_again(host: UnitsHost, earlier: StoredVersion, reason: str, now: float) -> VersionRecord:
    """Records an earlier version of an ended task as the next one, an epoch without units.

    Raises StoreError.
    """
    history = host.history
    point = await history.last_checkpoint()
    checkpoint: Checkpoint | None = None
    if point is not None:
        epoch = history.round + 1
        content = content_after(point.content, epoch, history.current.version + 1)
        # The change of the weights counts like the taking out of a result.
        checkpoint = Checkpoint(now, epoch, point.base + 1, earlier.weights, no_memory(), content, [])
    return await history.add_again(earlier, reason, now, checkpoint)


def describe(plan: Coordination) -> Iterator[str]:
    """Yields sentences that describe the plan of a task of work units. Raises ValueError for rounds."""
    if (units := plan.units) is None:
        raise ValueError("The task has rounds.")
    yield gettext(
        "Clients train work units, each at its own pace, and the server blends each result into the model "
        "when it arrives (%(method)s). It goes over all shards %(epochs)s times."
    ) % {"method": name_of(units.assimilation), "epochs": number(units.epochs)}
    yield gettext(
        "A client has at most %(seconds)s seconds for a unit; then another client also gets it."
    ) % {"seconds": f"{units.lease:g}"}
    match units.trust.comparison:
        case "newcomers":
            yield gettext("A newcomer's unit is done by %(clients)s clients, whose results are compared.") % {
                "clients": units.trust.replicas
            }
        case "samples":
            yield gettext(
                "Results count as they arrive; only spot checks and odd results are compared first."
            )
        case "none":
            yield gettext("No work is repeated: results count as they arrive.")


UNITS = Scheme(
    name="volunteer",
    socket=SchemeSocket(
        protocol=UNITS_PROTOCOL,
        word="enlist",
        opening=Enlist,
        decode=decode_units,
        join=UnitsHost.join,
        hear=UnitsHost.hear,
        take=UnitsHost.take,
    ),
    open_host=open_host,
    describe=describe,
    disclose=disclose_units,
    estimate=estimate_units,
    propose=propose_units,
    restore=restore,
    record_again=record_again,
    passes="epoch",
    piece=later("a unit"),
    after_restart="Work units whose results were not recorded are done again.",
    board=UnitsBoard,
    assimilations=UnitsHost.assimilations,
    unit_facts=UnitsHost.unit_facts,
    visits=visits_a_row,
)
