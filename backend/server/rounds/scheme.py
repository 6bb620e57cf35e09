"""Federated rounds as a scheme: the server adds up what clients send it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

from backend.formats.task_file import Coordination
from backend.protocols.rounds.lots import Lots
from backend.server.disclosure.rounds import disclose_rounds
from backend.server.estimates.round_costs import estimate
from backend.server.estimates.round_proposals import propose
from backend.server.hosting.scheme import HostServices, Scheme, SchemeSocket
from backend.server.privacy.privacy_budget import open_account
from backend.server.rounds.host import RoundsHost
from backend.server.tasks.formatting import number
from backend.server.tasks.task import Task
from backend.server.versions.version_history import StoredVersion, VersionHistory
from backend.stores.contracts import VersionRecord
from backend.stores.updates.kept_updates import KeptUpdates
from backend.translation import gettext, later
from backend.wire.codec import decode_client
from backend.wire.messages import PROTOCOL, Hello


async def open_host(task: Task, history: VersionHistory, services: HostServices) -> RoundsHost:
    """The host of a task in rounds, with the account of its clients' privacy."""
    manifest = task.bundle.manifest
    account = await open_account(
        task.file, history.versions, manifest.parameters.total, sum(one.rows for one in manifest.metrics)
    )
    scratch = services.stores.scratch
    await asyncio.to_thread(scratch.mkdir, parents=True, exist_ok=True)
    return RoundsHost(
        task,
        history,
        services.stores.blobs,
        services.evaluate,
        observer=services.observer,
        limits=services.limits,
        account=account,
        lots=Lots(services.stores.secret).of_task(task.file.name, history.run),
        scratch=scratch,
        reputations=await history.reputations(),
        kept=await _open_kept(task, history, services),
        reaggregation_slot=services.reaggregation_slot,
    )


async def _open_kept(task: Task, history: VersionHistory, services: HostServices) -> KeptUpdates | None:
    table = task.file.security.kept_updates
    if table is None:
        return None
    folder = services.stores.kept_updates.of_task(task.file.name)
    kept = KeptUpdates(folder, table.rounds, table.most_bytes)
    stored = [version.version for version in history.versions if version.let_go is None]
    await asyncio.to_thread(kept.open, history.run, stored)
    return kept


async def record_again(host: RoundsHost, earlier: StoredVersion, reason: str, now: float) -> VersionRecord:
    """Records an earlier version of an ended task as the next one. Raises StoreError."""
    return await host.history.add_again(earlier, reason, now)


def describe_rounds(who: str, plan: Coordination) -> Iterator[str]:
    """A plan of rounds in words; `who` averages."""
    yield gettext("%(who)s, in %(rounds)s rounds.") % {"who": gettext(who), "rounds": number(plan.rounds)}
    yield gettext("A round opens for %(clients)s clients and lasts %(seconds)s seconds at most.") % {
        "clients": plan.min_available_clients,
        "seconds": f"{plan.deadline:g}",
    }


ROUNDS = Scheme(
    name="federated",
    socket=SchemeSocket(
        protocol=PROTOCOL,
        word="hello",
        opening=Hello,
        decode=decode_client,
        join=RoundsHost.join,
        hear=RoundsHost.hear,
        take=RoundsHost.take,
    ),
    open_host=open_host,
    describe=partial(describe_rounds, later("The server averages what clients send")),
    disclose=disclose_rounds,
    estimate=estimate,
    propose=propose,
    restore=RoundsHost.restore,
    record_again=record_again,
    passes="round",
    piece=later("a round"),
    reaggregations=lambda host: host.reaggregations,
    after_restart="A round that was open then does not count: its part of the work begins again.",
)
