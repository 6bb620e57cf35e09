"""Checks that a task's settings are compatible with scheme = "decentralized".

In this scheme no server sees an update.
"""

from __future__ import annotations

from collections.abc import Iterator

from backend.formats.task_file.coordination import Coordination
from backend.formats.task_file.security import Security
from backend.formats.task_file.server_optimizer import FedAvg, FedAvgM, Nesterov, name_of
from backend.formats.task_file.task_file import TaskFile
from backend.protocols.mesh.allreduce.plan import LEAST_MASKED

SCHEME = 'scheme = "decentralized"'
# Keys of [coordination] that sample clients. A mesh has no sampling: all ready peers join every round.
CHOOSING = ("fraction_train", "min_train_clients", "over_selection")


def decentralized_conflicts(file: TaskFile) -> Iterator[str]:
    """Yields a sentence for each setting that conflicts with the scheme, with an alternative."""
    yield from _coordination_conflicts(file.coordination)
    if file.training.control_variates:
        yield (
            f"training.control_variates cannot be combined with {SCHEME}: SCAFFOLD's variates are kept by a "
            "server that sees every update. Take training.proximal_mu instead."
        )
    if file.security.masks:
        yield from _masking_conflicts(file)
    if file.privacy is not None:
        yield (
            f"[privacy] cannot be combined with {SCHEME}: its noise is counted for sums that a server makes. "
            'Leave the table out, or take scheme = "federated".'
        )
    if file.security.max_update_norm != Security().max_update_norm:
        yield (
            f"security.max_update_norm cannot be combined with {SCHEME}: no server looks at updates. Leave "
            'it out; coordination.averaging.reducer = "trimmed_mean" bounds what one peer can do.'
        )


def _masking_conflicts(file: TaskFile) -> Iterator[str]:
    """Yields conflicts with groups whose members mask what they send (decision 0032)."""
    coordination, averages = file.coordination, file.coordination.averages
    if file.security.aggregation != ("masked",):
        yield (
            f"security.aggregation names two ways. With {SCHEME} all members of a group mask, or none does: "
            'say ["masked"] or ["open"].'
        )
    if file.security.masking is not None:
        yield (
            f"security.masking is for rounds that a server adds up. With {SCHEME} a group masks among its "
            "members, 3 at least: leave the table out."
        )
    if averages.reducer != "mean":
        yield (
            f'coordination.averaging.reducer = "{averages.reducer}" looks at single values, which masks '
            'hide. Take reducer = "mean", or security.aggregation = ["open"].'
        )
    if averages.exchange not in ("auto", "butterfly"):
        yield (
            f'coordination.averaging.exchange = "{averages.exchange}" cannot be combined with '
            'security.aggregation = ["masked"]: take "butterfly", in which one member adds a part up.'
        )
    if averages.precision is not None:
        yield (
            'coordination.averaging.precision cannot be combined with security.aggregation = ["masked"]: a '
            "masked value is a whole number of 32 bits. Leave it out."
        )
    for key, value in (
        ("min_available_clients", coordination.min_available_clients),
        ("quorum", coordination.quorum),
        ("averaging.group_size", averages.group_size),
    ):
        if value < LEAST_MASKED:
            yield (
                f"coordination.{key} is {value}, but of fewer than {LEAST_MASKED} members who mask each "
                f"could work out the other's update. Raise it to {LEAST_MASKED}."
            )


def _coordination_conflicts(coordination: Coordination) -> Iterator[str]:
    optimizer = coordination.server_optimizer
    if not isinstance(optimizer, FedAvg | FedAvgM | Nesterov):
        yield (
            f'coordination.server_optimizer = "{name_of(optimizer)}" cannot be combined with {SCHEME}: each '
            "peer takes this step before the mean, which is equivalent only for fedavg, fedavgm, nesterov."
        )
    defaults = {key: Coordination.__struct_defaults__[_default_index(key)] for key in CHOOSING}
    for key, value in defaults.items():
        if getattr(coordination, key) != value:
            yield (
                f"coordination.{key} cannot be combined with {SCHEME}: all peers that are ready are in "
                "every round. Leave it out."
            )


def _default_index(key: str) -> int:
    """Returns the index of a key's default in `__struct_defaults__`, which skips required keys."""
    required = len(Coordination.__struct_fields__) - len(Coordination.__struct_defaults__)
    return Coordination.__struct_fields__.index(key) - required
