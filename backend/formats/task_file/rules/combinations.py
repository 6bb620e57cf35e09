"""Checks that a task's tables are compatible: scheme, masking, privacy and what needs single updates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from backend.formats.task_file.privacy import PrivacyTable
from backend.formats.task_file.rules.byzantine import byzantine_conflicts
from backend.formats.task_file.rules.decentralized import decentralized_conflicts
from backend.formats.task_file.rules.exactness import exactness_conflicts
from backend.formats.task_file.rules.integrity import integrity_conflicts
from backend.formats.task_file.rules.kept_updates import kept_updates_conflicts
from backend.formats.task_file.rules.newcomers import newcomer_conflicts
from backend.formats.task_file.rules.reputation import reputation_conflicts
from backend.formats.task_file.rules.robust import robust_conflicts
from backend.formats.task_file.rules.volunteer import volunteer_conflicts
from backend.formats.task_file.task_file import TaskFile
from backend.protocols.secagg.terms import MOST_ACTIVE
from backend.wire.masked_messages import Aggregation

# What the server can observe of a single client: its update, or its measurements on its own examples.
Observation = Literal["updates", "measurements"]
OBSERVABLE: dict[Aggregation, frozenset[Observation]] = {
    "open": frozenset({"updates", "measurements"}),
    "masked": frozenset(),
}


@dataclass(frozen=True)
class Need:
    """A setting that, if `chosen`, needs an `observation` of single clients.

    `why` is shown to people and names an alternative.
    """

    part: str
    chosen: Callable[[TaskFile], bool]
    observation: Observation
    why: str


# Settings that need only sums have no row.
NEEDS = (
    Need(
        "training.control_variates",
        lambda file: file.training.control_variates,
        "updates",
        "SCAFFOLD works out each client's control variate from its update. Take training.proximal_mu instead",
    ),
    Need(
        "security.robust",
        lambda file: file.security.robust is not None and file.security.robust.groups is None,
        "updates",
        "Robust rules compare single updates, of which masks leave only the sum. Set security.robust.groups "
        "to compare the sums of groups, leave [security.robust] out",
    ),
    Need(
        "security.reputation",
        lambda file: file.security.reputation is not None,
        "updates",
        "Reputation compares single updates, of which masks leave only the sum. Leave "
        "[security.reputation] out",
    ),
    Need(
        "security.kept_updates",
        lambda file: file.security.kept_updates is not None,
        "updates",
        "There are no single updates to keep: masks leave only their sum. Leave [security.kept_updates] out",
    ),
    Need(
        "coordination.fraction_evaluate",
        lambda file: file.data.own is not None and file.fraction_evaluate > 0.0,
        "measurements",
        "Each client would reveal results on its own examples. Leave fraction_evaluate out",
    ),
)


def contradiction(file: TaskFile) -> str | None:
    """Returns the first conflict in `file` with an alternative; None if the task is consistent."""
    decentralized, masks = file.coordination.decentralized, file.security.masks
    volunteer = volunteer_conflicts(file) if file.coordination.volunteer else ()
    scheme = decentralized_conflicts(file) if decentralized else volunteer
    too_few = _too_few(file) if masks and not decentralized and file.security.groups == 1 else ()
    others = (_hidden_observations(file), too_few, _privacy_conflicts(file), exactness_conflicts(file))
    extra = (robust_conflicts(file), reputation_conflicts(file), integrity_conflicts(file))
    newest = (newcomer_conflicts(file), kept_updates_conflicts(file))
    for sentences in (byzantine_conflicts(file), scheme, *others, *extra, *newest):
        for sentence in sentences:
            return sentence
    return None


def _privacy_conflicts(file: TaskFile) -> Iterator[str]:
    """Yields settings that would reveal more of a client than its noised update, or defeat the clip."""
    privacy = file.privacy
    if privacy is None:
        return
    yield from _mechanism_conflicts(file, privacy)
    if file.training.control_variates:
        yield (
            "training.control_variates cannot be combined with [privacy]: the server's variate is made of "
            "updates without noise. Take training.proximal_mu instead."
        )
    if file.data.own is not None and file.fraction_evaluate > 0.0:
        yield (
            "coordination.fraction_evaluate cannot be combined with [privacy]: what clients measure on their "
            "own examples gets no noise. Leave it out, and have the server measure on examples of yours."
        )
    if privacy.of_examples and file.data.own is None:
        yield (
            'privacy.mechanism = "examples" needs data.source = "volunteer": a shard goes to '
            'several clients, and visits to its examples are not counted. Take mechanism = "central".'
        )
    if privacy.of_examples and privacy.microbatch > (file.training.batch_size or file.model.batch_size):
        yield (
            f"privacy.microbatch is {privacy.microbatch}, more than a batch has. Lower it: 1 clips each "
            "example by itself."
        )
    bounded = privacy.mechanism in ("central", "local")
    if bounded and file.security.max_update_norm < privacy.clip:
        yield (
            f"security.max_update_norm is {file.security.max_update_norm:g}, so that no update is ever "
            f"clipped to privacy.clip = {privacy.clip:g}. Raise it over that."
        )


def _hidden_observations(file: TaskFile) -> Iterator[str]:
    for need in NEEDS:
        for aggregation in file.security.aggregation:
            if need.chosen(file) and need.observation not in OBSERVABLE[aggregation]:
                yield (
                    f'{need.part} cannot be combined with security.aggregation = ["{aggregation}"], '
                    f"which shows no single client's {need.observation}. {need.why}, "
                    'or take aggregation = ["open"].'
                )


def _too_few(file: TaskFile) -> Iterator[str]:
    """Yields client counts with which a masked round could not be unmasked or would exceed its maximum."""
    rounds, masking = file.coordination, file.security.masked
    minimum = masking.min_clients
    for key, value in (
        ("min_available_clients", rounds.min_available_clients),
        ("quorum", rounds.quorum),
        ("min_train_clients", rounds.min_train_clients if rounds.fraction_train < 1.0 else minimum),
    ):
        if value < minimum:
            yield (
                f"coordination.{key} is {value}, but updates are masked among at least {minimum} clients "
                f"(security.masking.min_clients). Raise it to {minimum}, or lower that to 3 at least."
            )
    if masking.server == "active" and rounds.min_available_clients > MOST_ACTIVE:
        yield (
            f'security.masking.server = "active" takes at most {MOST_ACTIVE} clients in a round, and '
            f"coordination.min_available_clients is {rounds.min_available_clients}. Lower it, or take server "
            '= "honest".'
        )


def _mechanism_conflicts(file: TaskFile, privacy: PrivacyTable) -> Iterator[str]:
    """Yields conflicts with masking: distributed noise requires masked sums, other mechanisms forbid them."""
    security = file.security
    if privacy.mechanism != "distributed":
        if security.masks:
            yield (
                f'privacy.mechanism = "{privacy.mechanism}" cannot be combined with masked updates. Take '
                'mechanism = "distributed", or security.aggregation = ["open"].'
            )
        return
    if security.aggregation != ("masked",):
        yield (
            'privacy.mechanism = "distributed" adds up shares of noise with updates that nobody may see '
            'alone: it needs security.aggregation = ["masked"].'
        )
    if security.masked.clip is not None or security.masked.examples is not None:
        yield (
            "security.masking.clip and examples cannot be combined with [privacy]: updates are clipped to "
            "privacy.clip, and each weighs 1. Leave them out."
        )
    if security.masked.share < 1.0:
        yield (
            "security.masking.share cannot be combined with [privacy]: what a client learned and did not "
            "send lives on in later updates, and no account covers that. Leave it out, so that all is sent."
        )
