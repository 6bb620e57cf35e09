"""The reputation of clients in a task's rounds: opens the book from the records, and words what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from backend.formats.task_file import ReputationTable, TaskFile
from backend.numerics.reputation.suspicion import EvidenceKind, Suspicion, SuspicionRules
from backend.protocols.rounds.lots import Lots
from backend.protocols.rounds.reputation_book import JudgedRound, ReputationBook, Suspect, SuspectKey
from backend.server.hosting.clients.client_link import ClientLink
from backend.server.hosting.clients.client_network import client_network, is_many_people
from backend.stores.contracts import ReputationRecord

# What was found, after "in earlier rounds".
REASONS: Mapping[EvidenceKind, str] = {
    "refused": "they could not be used, or were longer than this task takes",
    "distance": "they were several times as far from the others as usual",
    "direction": "they pointed against those of most others",
    "repetition": "they repeated earlier ones",
    "left-out": "the task's rule left them out",
}


def open_book(
    file: TaskFile, records: Iterable[ReputationRecord], is_known: Callable[[str], bool]
) -> ReputationBook | None:
    """Returns the book with what is recorded; None for a task without [security.reputation]."""
    table = file.security.reputation
    if table is None:
        return None
    rules = SuspicionRules(table.half_life, table.quarantine)
    return ReputationBook(rules, map(suspect_of, records), is_known)


def suspect_key(table: ReputationTable, client: str, link: ClientLink, lots: Lots) -> SuspectKey:
    """Returns for whom a client's suspicion is kept: its account or invitation, else itself.

    Its household is a keyed digest of its network; "" where many people share one.
    """
    subject = link.identity or client
    if is_many_people(link, table.shared_networks):
        return SuspectKey(subject)
    return SuspectKey(subject, lots.lot("household", client_network(link)).hex()[:32])


def reputation_records(suspects: Iterable[Suspect]) -> dict[str, ReputationRecord | None]:
    """Returns what is to be written; nothing remains of those without suspicion."""
    return {one.subject: None if one.suspicion.is_blank else _record_of(one) for one in suspects}


def suspect_of(record: ReputationRecord) -> Suspect:
    """Returns a recorded suspect."""
    suspicion = Suspicion(
        record.score, record.quarantined, record.quarantines, record.served, record.probation
    )
    timeline = tuple(JudgedRound(**judged) for judged in record.timeline)
    return Suspect(record.subject, record.client, record.household, suspicion, timeline)


@dataclass(frozen=True)
class UncountedNotice:
    """Why a client's updates do not count now, and what it takes: see `backend.wire.messages.Accepted`."""

    code: Literal["quarantine", "household"]
    found: list[EvidenceKind]
    rounds: int

    @property
    def reason(self) -> str:
        """The sentence for peers."""
        if self.code == "household":
            return (
                "Your updates do not count yet: updates from your network were found false, and this device "
                f"is new here. They count after {_rounds(self.rounds)} in which they are like those of "
                "others."
            )
        found = " and ".join(REASONS[kind] for kind in self.found) or "they looked false"
        return (
            f"Your updates do not count at present: in earlier rounds {found}. They are still compared, and "
            f"count again after {_rounds(self.rounds)} or more in which they are like those of others. If "
            "your device is honest, try another backend, or ask the task's owner."
        )


def uncounted_notice(suspect: Suspect, rules: SuspicionRules) -> UncountedNotice | None:
    """Returns for a client why its updates do not count now; None if they count."""
    suspicion = suspect.suspicion
    if suspicion.counts:
        return None
    if not suspicion.quarantined:
        return UncountedNotice("household", [], suspicion.probation)
    left = max(1, suspicion.served_at_least(rules) - suspicion.served)
    return UncountedNotice("quarantine", suspect.reasons[:2], left)


def _rounds(count: int) -> str:
    return "1 round" if count == 1 else f"{count} rounds"


def _record_of(suspect: Suspect) -> ReputationRecord:
    timeline = [asdict(judged) for judged in suspect.timeline]
    return ReputationRecord(
        suspect.subject, suspect.client, suspect.household, **asdict(suspect.suspicion), timeline=timeline
    )
