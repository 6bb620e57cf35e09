"""Accounts for the epsilon that a task's rounds have spent so far, and for its budget."""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backend.errors import TaskFileError
from backend.formats.task_file import TaskFile
from backend.formats.task_file.privacy import PrivacyTable
from backend.server.privacy.accountant import ask_accountant
from backend.server.privacy.epsilon import MAX_EPSILON, Curve, CurveQuery
from backend.server.privacy.mechanism import Kind, Mechanism, WholeNumbers, visits
from backend.server.privacy.noise_shares import whole_numbers
from backend.stores.contracts import VersionRecord
from backend.translation import gettext, later

# A larger epsilon is not reported as a guarantee (Dwork, Kohli and Mulligan 2019 ask for far less).
MEANINGFUL = 100.0

# If the server is not trusted, abandoned rounds count: the curve covers this multiple of the task's rounds.
UNTRUSTED_ROUNDS = 10

NAMES = later("A client is one name: a person with several names is protected less with each of them.")
EVERYWHERE = (
    later("What updates say is hidden. Who takes part, how often, and with how many examples is not."),
    later("Volunteers choose when to take part, so no gain from random sampling is claimed."),
)
CENTRAL = (
    later("The server sees single updates before it adds noise: its operator must be trusted with them."),
    later("The recorded rounds in which a client's update was accepted count."),
)
LOCAL = (
    later(
        "Each client clips and noises its update before it leaves the device: the server need not be trusted."
    ),
    later("Every opened round counts, as if one client had been in each."),
)
DISTRIBUTED = (
    later(
        "Clients add shares of the noise under their masks, so that the server sees no sum with less noise."
    ),
    later(
        "The noise is complete with the shares of the fewest clients that can unmask a sum. A client that "
        "adds none on purpose removes its share."
    ),
    later(
        "The rounds that count are those in which a client's update was accepted, and all that made no "
        "version."
    ),
)
EXAMPLES = (
    later(
        "Each client clips the gradient of each example, and adds noise in every step, before anything "
        "leaves the device: the server need not be trusted."
    ),
    later(
        "The effect of one example is hidden. What many examples of one client have in common is not: for a "
        "number of them together epsilon is that many times as large, or larger."
    ),
    later("Every visit to an example counts in every opened round, as if its client had been in each."),
)
ASSUMPTIONS: dict[Kind, tuple[str, ...]] = {
    "central": (*CENTRAL, NAMES),
    "local": (*LOCAL, NAMES),
    "distributed": (*DISTRIBUTED, NAMES),
    "examples": EXAMPLES,
}
WHO: dict[Kind, str] = {
    "central": later("Anyone who sees the model, but not the server,"),
    "local": later("The server and everybody else"),
    "distributed": later("The server, which sees only sums, and anyone who sees the model"),
    "examples": later("The server and everybody else"),
}
TREE = later(
    "Noise is added to running sums (DP-FTRL): whichever rounds a client is in, and whatever came before."
)


@dataclass(frozen=True)
class PrivacyBudget:
    """The privacy account of one task's clients. `curve` is None without noise.

    `uncovered` is the number of versions that were made with less noise than the account assumes.
    """

    privacy: PrivacyTable
    curve: Curve | None
    uncovered: int = 0

    @property
    def most(self) -> int | None:
        """Returns the maximum number of rounds of one client; None without a budget."""
        return self.curve.most if self.curve else None

    def taken(self, accepted: Mapping[str, int], opened: int, versions: int) -> int:
        """Returns the largest number of rounds that count for any one client.

        `accepted` is the number of accepted updates by client, `opened` the number of all rounds, `versions`
        the number of those that made a version. If the server is not trusted, what it may have seen counts,
        too: every update with its own noise, every sum without masks.
        """
        if self.privacy.mechanism in ("local", "examples"):
            return opened
        unrecorded = opened - versions if self.privacy.mechanism == "distributed" else 0
        return max(accepted.values(), default=0) + unrecorded

    def epsilon(self, taken: int) -> float | None:
        """Returns epsilon for a client of `taken` rounds; None if nothing is guaranteed."""
        if self.curve is None or self.uncovered:
            return None
        if not taken:
            return 0.0
        points = self.curve.points
        index = bisect_left(points, taken, key=lambda point: point[0])
        epsilon = points[index][1] if index < len(points) else MAX_EPSILON
        return epsilon if epsilon <= MEANINGFUL else None

    def report(self, taken: int, clip: float) -> dict[str, Any]:
        """Returns the account as the API and pages show it (docs/reference/http.md)."""
        privacy = self.privacy
        assumptions = [*ASSUMPTIONS[privacy.mechanism], *([TREE] if privacy.tree else []), *EVERYWHERE]
        return {
            "mechanism": privacy.mechanism,
            "unit": "example" if privacy.of_examples else "client",
            "epsilon": self.epsilon(taken),
            "delta": privacy.delta,
            "budget": privacy.epsilon,
            "taken": taken,
            "most": self.most,
            "clip": clip,
            "noise_multiplier": privacy.noise_multiplier,
            "tree": privacy.tree,
            "sentence": self._sentence(taken),
            "assumptions": [gettext(assumption) for assumption in assumptions],
        }

    def _sentence(self, taken: int) -> str:
        epsilon, mechanism = self.epsilon(taken), self.privacy.mechanism
        if self.curve is None and self.privacy.of_examples:
            return gettext("Nothing is guaranteed: gradients are clipped, but no noise is added.")
        if self.curve is None:
            return gettext("Nothing is guaranteed: updates are clipped, but no noise is added.")
        if self.uncovered:
            return gettext("Nothing is guaranteed: %(count)s versions had less noise than is counted.") % {
                "count": self.uncovered
            }
        if epsilon is None:
            return gettext(
                "There is no meaningful guarantee: after %(rounds)s rounds epsilon is over %(most)s. "
                "More noise or fewer rounds would change that."
            ) % {"rounds": taken, "most": f"{MEANINGFUL:g}"}
        if self.privacy.of_examples:
            sentence = gettext(
                "%(who)s can tell little about any one example: epsilon %(epsilon)s at delta %(delta)s, for "
                "those of a client that was in %(rounds)s rounds."
            )
        else:
            sentence = gettext(
                "%(who)s can tell little of what one client's updates said: epsilon %(epsilon)s at delta "
                "%(delta)s, for a client that was in %(rounds)s rounds."
            )
        return sentence % {
            "who": gettext(WHO[mechanism]),
            "epsilon": f"{epsilon:.3g}",
            "delta": f"{self.privacy.delta:g}",
            "rounds": taken,
        }


def visits_of(file: TaskFile) -> int:
    """Returns how often a round visits an example of a client with the task's minimum of examples."""
    own, training = file.data.own, file.training
    if own is None:
        return 1
    examples = max(1, math.floor(own.minimum * (1.0 - own.holdout)))
    epochs = 0 if training.steps else training.epochs or 1
    return visits(epochs, training.steps or 0, training.batch_size or file.model.batch_size, examples)


def terms(privacy: PrivacyTable, clip: float, visits: int, bits: int) -> dict[str, Any]:
    """Returns what is recorded with a version: its noise, and the clip of the next round.

    `bits` are those of masked sums, to which shares of noise are rounded.
    """
    return {
        "mechanism": privacy.mechanism,
        "bits": bits,
        "visits": visits,
        "microbatch": privacy.microbatch,
        "noise_multiplier": privacy.noise_multiplier,
        "tree": privacy.tree,
        "clip": clip,
        "count_noise": privacy.adaptive.count_noise if privacy.adaptive else None,
    }


def _covers(privacy: PrivacyTable, visits: int, bits: int, recorded: dict[str, Any] | None) -> bool:
    """Whether a version has at least the noise that the account assumes."""
    if recorded is None:
        return False
    same = (recorded["mechanism"], recorded["tree"]) == (privacy.mechanism, privacy.tree)
    if privacy.of_examples:
        same = same and recorded["visits"] <= visits and recorded["microbatch"] == privacy.microbatch
    if privacy.mechanism == "distributed":
        same = same and recorded["bits"] >= bits
    return same and recorded["noise_multiplier"] >= privacy.noise_multiplier


def _counted_with_little_noise(privacy: PrivacyTable, versions: Sequence[VersionRecord]) -> set[int]:
    """Returns the versions whose adaptive clip was accounted for as if a client moved the count by 1/2.

    Their records do not say `count_noise`, but their clip moved, and not to that of the task file.
    """
    found, clip = set(), privacy.clip
    for version in versions:
        recorded = version.privacy
        if recorded is None:
            continue
        if "count_noise" not in recorded and recorded["clip"] not in (clip, privacy.clip):
            found.add(version.version)
        clip = recorded["clip"]
    return found


async def open_account(
    file: TaskFile, versions: Sequence[VersionRecord], parameters: int, rows: int
) -> PrivacyBudget | None:
    """Computes the account of a task with these versions, in another process; None without [privacy].

    `parameters` and metric `rows` are numbers of the model.

    Raises TaskFileError if the accountant is missing, the budget does not suffice for one round, or a budget
    is set and a version has less noise than [privacy] now requires.
    """
    privacy, planned = file.privacy, max(file.coordination.rounds, len(versions))
    if privacy is None:
        return None
    visits, bits = visits_of(file), file.security.masked.bits
    little = _counted_with_little_noise(privacy, versions)
    uncovered = sum(
        version.version > 0
        and (version.version in little or not _covers(privacy, visits, bits, version.privacy))
        for version in versions
    )
    if uncovered and privacy.epsilon is not None:
        raise TaskFileError(
            f"{file.name}: {uncovered} versions were made with less noise than [privacy] asks for now, so "
            f"no epsilon can be guaranteed. Convert the model again to start over, or remove privacy.epsilon."
        )
    if not privacy.noise_multiplier:
        return PrivacyBudget(privacy, None, uncovered)
    whole: WholeNumbers | None = None
    if privacy.mechanism == "distributed":
        whole = whole_numbers(privacy, file.security.masked, parameters, rows)
    mechanism = Mechanism(
        privacy.mechanism,
        privacy.noise_multiplier,
        planned,
        privacy.tree,
        whole,
        visits if privacy.of_examples else 1,
        privacy.microbatch,
    )
    # If the server is not trusted, abandoned rounds count, too.
    limit = planned if privacy.mechanism == "central" else UNTRUSTED_ROUNDS * planned
    query = CurveQuery(mechanism, privacy.delta, privacy.epsilon, limit)
    curve = await asyncio.to_thread(ask_accountant, query, Curve)
    if curve.most == 0:
        epsilon = f"{privacy.epsilon:g}"
        raise TaskFileError(
            f"{file.name}: one round would pass privacy.epsilon = {epsilon}. Raise noise_multiplier; "
            f"`minga privacy --epsilon {epsilon} --rounds {planned * mechanism.visits}` says how far."
        )
    return PrivacyBudget(privacy, curve, uncovered)
