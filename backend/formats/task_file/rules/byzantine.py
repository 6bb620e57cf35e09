"""Checks that the members of a mesh can do each other's work again, as [coordination.byzantine] needs it."""

from __future__ import annotations

from collections.abc import Iterator

from backend.formats.task_file.averaging import Averaging
from backend.formats.task_file.data import Data
from backend.formats.task_file.task_file import TaskFile
from backend.wire.byzantine_messages import MOST_PUBLIC_SHARDS
from backend.wire.mesh_fields import MOST_IN_GROUP

TABLE = "[coordination.byzantine]"
# Steps of a round: the most that others do again, and as many as limits of comparisons were measured with.
MOST_STEPS, ADVISED_STEPS = 64, 10
_AGAIN = "others check a member's work by doing it again"


def byzantine_conflicts(file: TaskFile) -> Iterator[str]:
    """Yields a sentence for each setting that conflicts with members' checks, with an alternative."""
    if file.coordination.byzantine is None or not file.coordination.decentralized:
        return
    yield from _data_conflicts(file.data)
    yield from _training_conflicts(file)
    if file.security.masks:
        yield (
            f'security.aggregation = ["masked"] cannot be combined with {TABLE}: {_AGAIN}, and masks hide '
            'it. Take aggregation = ["open"].'
        )
    if file.privacy is not None:
        yield (
            f"[privacy] cannot be combined with {TABLE}: {_AGAIN}, and secret noise would make it other work "
            'each time. Leave the table out, or take scheme = "federated".'
        )
    yield from _averaging_conflicts(file.coordination.averages)
    if file.coordination.byzantine.probation == 0 and not file.access.by_invitation:
        yield (
            'coordination.byzantine.probation = 0 needs access.newcomers = "invited": strangers would '
            "have a vote at once, under any number of names. Say 100 rounds, or let in only people "
            "with an invitation."
        )


def shards_conflict(file: TaskFile, shards: int) -> str | None:
    """Returns why so many training shards are too many for a task whose members check each other."""
    if file.coordination.byzantine is None or shards <= MOST_PUBLIC_SHARDS:
        return None
    return (
        f"the data have {shards:,} training shards, and with {TABLE} every member receives the list, of at "
        f"most {MOST_PUBLIC_SHARDS:,}. Cut larger shards (`minga shard --shard-examples`)."
    )


def _data_conflicts(data: Data) -> Iterator[str]:
    if data.source == "volunteer":
        yield (
            f'data.source = "volunteer" cannot be combined with {TABLE}: {_AGAIN}, and nobody else has a '
            'volunteer\'s own examples. Take source = "shards".'
        )
    if data.source == "url":
        yield (
            f'data.source = "url" cannot be combined with {TABLE}: {_AGAIN}, and what another host sends to '
            'each of them nobody can check. Take source = "shards", which this server hands out.'
        )
    if data.partition is not None or data.shards_per_client != 1:
        key = "partition" if data.partition is not None else "shards_per_client"
        yield (
            f"data.{key} cannot be combined with {TABLE}: a public coin draws one of all shards for each "
            "member and round. Leave it out."
        )


def _training_conflicts(file: TaskFile) -> Iterator[str]:
    training = file.training
    if training.steps is None:
        had = "" if training.epochs is None else f" in place of epochs = {training.epochs}"
        yield (
            f"{TABLE} needs training.steps, the same number for all members: {_AGAIN}, whole steps that no "
            f"deadline cuts. Say steps = {ADVISED_STEPS} in [training]{had}."
        )
    elif training.steps > MOST_STEPS:
        yield (
            f"training.steps is {training.steps}, and with {TABLE} at most {MOST_STEPS}: {_AGAIN}, and on "
            "another kind of device it comes out more different with each step. Say "
            f"{ADVISED_STEPS}, and more rounds."
        )
    if training.proximal_mu:
        yield (
            f"training.proximal_mu cannot be combined with {TABLE}: it keeps clients with different data "
            "together, and here a coin draws for each from the same data. Leave it out."
        )
    if training.control_variates:
        yield (
            f"training.control_variates cannot be combined with {TABLE}: {_AGAIN}, and a client's variates "
            "come from all of its earlier work. Leave it out."
        )


def _averaging_conflicts(averages: Averaging) -> Iterator[str]:
    usual = Averaging()
    if averages.groups != usual.groups or averages.group_size != usual.group_size:
        key = "groups" if averages.groups != usual.groups else "group_size"
        yield (
            f"coordination.averaging.{key} cannot be combined with {TABLE}: all members make one group, of "
            f"at most {MOST_IN_GROUP}, as they agree on one state of the mesh. Leave it out."
        )
    if averages.reducer != usual.reducer:
        yield (
            f'coordination.averaging.reducer = "{averages.reducer}" cannot be combined with {TABLE}, whose '
            "members make a clipped mean and check it. Leave it out."
        )
    if averages.precision not in (None, "float32"):
        yield (
            f'coordination.averaging.precision = "{averages.precision}" cannot be combined with {TABLE}: '
            "checks of means need their exact values, and rounding would look like a lie. Leave it out, for "
            "float32."
        )
    if averages.exchange not in ("auto", "butterfly"):
        yield (
            f'coordination.averaging.exchange = "{averages.exchange}" cannot be combined with {TABLE}: each '
            'part needs one owner, whose mean others check. Take "butterfly", or leave it out.'
        )
