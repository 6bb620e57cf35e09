"""Whose suspicion a client has, what is recorded of it, and what it is told."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from backend.errors import MingaError
from backend.formats.task_file import ReputationTable
from backend.numerics.reputation.suspicion import Suspicion, SuspicionRules
from backend.protocols.rounds.lots import Lots
from backend.protocols.rounds.reputation_book import JudgedRound, Suspect
from backend.server.rounds.reputations import reputation_records, suspect_key, suspect_of, uncounted_notice

RULES, LOTS = SuspicionRules(10.0, 10), Lots(b"secret")
LIAR = Suspect(
    "account a",
    "a" * 16,
    "house",
    Suspicion(3.0, True, 1, 4),
    (JudgedRound(3, 2.8, {"direction": 1.0}, True), JudgedRound(4, 3.0, {"distance": 0.4}, False)),
)


@dataclass
class Link:
    """A connection from an address."""

    address: str
    identity: str = ""
    volunteer: str = ""
    is_unnamed_proxy: bool = False

    def send(self, frame: bytes) -> None:
        raise AssertionError(frame)

    def close(self, error: MingaError) -> None:
        raise AssertionError(error)


def test_an_account_or_invitation_is_the_subject_and_else_the_client() -> None:
    table = ReputationTable()
    for identity, subject in (("account a", "account a"), ("", "c" * 16)):
        assert suspect_key(table, "c" * 16, Link("203.0.113.7", identity), LOTS).subject == subject


def test_a_household_is_a_network_that_its_record_does_not_name() -> None:
    table = ReputationTable(shared_networks=("198.51.100.0/24",))

    def household(address: str, lots: Lots = LOTS) -> str:
        return suspect_key(table, "c", Link(address), lots).household

    assert household("203.0.113.7") == household("203.0.113.200") != household("203.0.114.7")
    assert "203" not in household("203.0.113.7")
    assert household("203.0.113.7") != household("203.0.113.7", Lots(b"other"))
    assert household("198.51.100.9") == household("192.168.1.2") == household("127.0.0.1") == ""


def test_a_record_holds_all_that_is_known() -> None:
    (record,) = reputation_records([LIAR]).values()
    assert record is not None
    assert suspect_of(record) == LIAR


def test_nothing_is_recorded_of_a_client_without_suspicion() -> None:
    assert reputation_records([Suspect("a", "a")]) == {"a": None}


@pytest.mark.parametrize(
    ("suspect", "code", "words"),
    [
        (
            LIAR,
            "quarantine",
            ["in earlier rounds they pointed against", "and they were several times", "after 6 rounds"],
        ),
        (
            Suspect("n", "n", "h", Suspicion(1.0, probation=1)),
            "household",
            ["do not count yet", "your network", "1 round in"],
        ),
    ],
)
def test_a_client_is_told_why_its_updates_do_not_count(suspect: Suspect, code: str, words: list[str]) -> None:
    notice = uncounted_notice(suspect, RULES)
    assert notice is not None
    assert (notice.code, notice.found) == (code, suspect.reasons[:2])
    assert all(word in notice.reason for word in words)
    assert len(notice.reason) <= 500


def test_a_client_whose_updates_count_is_told_nothing() -> None:
    assert uncounted_notice(Suspect("a", "a", suspicion=Suspicion(2.4)), RULES) is None
