"""The reputation book of a task in rounds: whose updates do not count now, and why.

Suspicion (numerics/reputation) is kept by what a client cannot renew for nothing: its account or invitation
where it has one, else its id; and newcomers of a household begin with what its quarantined clients left.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from backend.numerics.reputation.suspicion import (
    EvidenceKind,
    Suspicion,
    SuspicionRules,
    after_round,
    lifted,
    newcomer,
)

Value = TypeVar("Value")

# Refusals of what a client's program should not send; being late, twice or not selected is no evidence.
MALFORMED = frozenset({"not-finite", "norm-too-large", "wrong-length", "bad-examples"})
# The rounds that a timeline has, and the clients that are remembered without suspicion.
TIMELINE_ROUNDS, MOST_CLIENTS = 40, 20_000


BLANK = Suspicion()


@dataclass(frozen=True)
class JudgedRound:
    """A round of a suspect: its suspicion after it, the `evidence`, and whether its update counted.

    `evidence` maps kinds to strengths, 0 to 1.
    """

    round: int
    score: float
    evidence: Mapping[EvidenceKind, float]
    counted: bool


@dataclass(frozen=True)
class Suspect:
    """The reputation of a `subject`: an account, an invitation or a client; `client` sent its last update.

    `household` is "" where many people share a network. `timeline` has its last judged rounds.
    """

    subject: str
    client: str
    household: str = ""
    suspicion: Suspicion = BLANK
    timeline: tuple[JudgedRound, ...] = ()

    @property
    def reasons(self) -> list[EvidenceKind]:
        """The kinds of evidence in its timeline, the strongest first."""
        sums: dict[EvidenceKind, float] = defaultdict(float)
        for judged in self.timeline:
            for kind, strength in judged.evidence.items():
                sums[kind] += strength
        return sorted(sums, key=lambda kind: (-sums[kind], kind))


@dataclass(frozen=True)
class SuspectKey:
    """Whom a client's suspicion is kept for, and its household; "" is none."""

    subject: str
    household: str = ""


class ReputationBook:
    """Owns the suspicion of one task's clients. Changed by the task's host alone.

    `suspects` were recorded by earlier processes. `is_known` says whether an update of a client was ever
    accepted: those are no newcomers.
    """

    def __init__(
        self, rules: SuspicionRules, suspects: Iterable[Suspect], is_known: Callable[[str], bool]
    ) -> None:
        self.rules = rules
        self._suspects = {suspect.subject: suspect for suspect in suspects}
        self._is_known = is_known
        self._keys: OrderedDict[str, SuspectKey] = OrderedDict()
        # Subjects that are judged, or found to be no newcomers, since the start.
        self._settled: OrderedDict[str, None] = OrderedDict()
        self._refused: set[str] = set()

    def join(self, client: str, key: SuspectKey) -> None:
        """Notes for whom the suspicion of a client that connected is kept."""
        _remember(self._keys, client, key)

    def suspicion(self, client: str) -> Suspicion:
        """Returns the suspicion of a client now."""
        return self._suspect(client).suspicion

    def suspect(self, client: str) -> Suspect:
        """Returns what is known of a client; nothing is known of most."""
        return self._suspect(client)

    def update_refused(self, client: str, code: str) -> None:
        """Notes the refusal of an update, for the end of the round."""
        if code in MALFORMED:
            self._refused.add(client)

    def round_ended(
        self, number: int, evidence: Mapping[str, Mapping[EvidenceKind, float]], counted: Iterable[str]
    ) -> list[Suspect]:
        """Judges the clients whose updates were compared or refused; returns what is to be recorded.

        `evidence` has a row for each client with a compared update; those whose update `counted` learned it
        when it was accepted. Several clients of one subject are judged by the worst of them.
        """
        rows: dict[str, Mapping[EvidenceKind, float]] = dict(evidence)
        for client in self._refused:
            rows[client] = {**rows.get(client, {}), "refused": 1.0}
        self._refused.clear()
        counting = set(counted)
        worst: dict[str, tuple[float, str]] = {}
        for client, found in rows.items():
            subject = self._key(client).subject
            worst[subject] = max(worst.get(subject, (-1.0, "")), (sum(found.values()), client))
        # Newcomers' suspicion is that before the round, whatever it brings for others.
        before = {client: self._suspect(client) for _, client in worst.values()}
        changed: list[Suspect] = []
        for client, suspect in sorted(before.items()):
            after = self._judge(suspect, number, rows[client], client in counting)
            if not (suspect.suspicion.is_blank and after.suspicion.is_blank):
                changed.append(after)
        return changed

    def lifted(self, client: str) -> Suspect | None:
        """Returns a client without its suspicion, to be recorded and settled; None if there is none."""
        known = next((one for one in self._suspects.values() if one.client == client), None)
        suspect = known or self._suspect(client)
        if suspect.suspicion.is_blank:
            return None
        return replace(suspect, suspicion=lifted(suspect.suspicion))

    @property
    def suspects(self) -> list[Suspect]:
        """The clients with suspicion, those in quarantine first, then the most suspect."""
        return sorted(
            self._suspects.values(),
            key=lambda one: (not one.suspicion.quarantined, -one.suspicion.score, one.client),
        )

    def _judge(
        self, suspect: Suspect, number: int, found: Mapping[EvidenceKind, float], counted: bool
    ) -> Suspect:
        suspicion = after_round(suspect.suspicion, found, self.rules)
        if suspicion.is_blank and suspect.suspicion.is_blank:
            _remember(self._settled, suspect.subject, None)
            return suspect
        judged = JudgedRound(number, round(suspicion.score, 4), dict(found), counted)
        timeline = (*suspect.timeline, judged)[-TIMELINE_ROUNDS:]
        suspect = replace(suspect, suspicion=suspicion, timeline=timeline)
        self.settle(suspect)
        return suspect

    def settle(self, suspect: Suspect) -> None:
        """Takes what is known of a client from now on."""
        _remember(self._settled, suspect.subject, None)
        if suspect.suspicion.is_blank:
            self._suspects.pop(suspect.subject, None)
        else:
            self._suspects[suspect.subject] = suspect

    def _suspect(self, client: str) -> Suspect:
        key = self._key(client)
        subject, household = key.subject, key.household
        known = self._suspects.get(subject)
        if known is not None:
            return replace(known, client=client, household=household or known.household)
        if subject in self._settled or self._is_known(client):
            return Suspect(subject, client, household)
        return Suspect(subject, client, household, newcomer(self._quarantined(household), self.rules))

    def _key(self, client: str) -> SuspectKey:
        return self._keys.get(client) or SuspectKey(client)

    def _quarantined(self, household: str) -> int:
        if not household:
            return 0
        return sum(one.suspicion.quarantined for one in self._suspects.values() if one.household == household)


def _remember(kept: OrderedDict[str, Value], key: str, value: Value) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > MOST_CLIENTS:
        kept.popitem(last=False)
