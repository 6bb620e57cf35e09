"""What a task's owner reads of suspects, and of what the rounds bear."""

from __future__ import annotations

import tomllib
from typing import Any

from backend.formats.task_file import TaskFile, parse_task
from backend.numerics.reputation.suspicion import LIMIT, SuspicionRules
from backend.protocols.rounds.reputation_book import ReputationBook, SuspectKey
from backend.server.rounds.suspect_report import MOST_REPORTED, suspect_rows, tolerance
from tests.support.tasks.tiny_task import task_toml

RULES = SuspicionRules(10.0, 10)


def task(rounds: dict[str, Any] | None = None, **security: Any) -> TaskFile:
    content = tomllib.loads(task_toml("tiny", rounds or {"min_available_clients": 5, "quorum": 5}))
    content["security"] |= security
    return parse_task(content, "here")


def test_a_task_without_rule_and_reputation_has_nothing_to_report() -> None:
    assert tolerance(task(), 10) is None


def test_what_is_borne_follows_from_the_updates_of_a_round() -> None:
    file = task(robust={"rule": "krum", "attackers": 1}, reputation={})
    borne = {"updates": 10, "groups": 0, "rule": "krum", "attackers": 1, "repeated": 3}
    assert tolerance(file, 10) == borne
    assert tolerance(file, 4) == borne | {"updates": 4, "attackers": 0, "repeated": 0}


def test_the_mean_bears_none_and_reputation_finds_a_third_over_rounds() -> None:
    mean = {"updates": 9, "groups": 0, "rule": "", "attackers": 0, "repeated": 3}
    assert tolerance(task(reputation={}), 9) == mean
    found = tolerance(task(robust={"rule": "median", "attackers": 2}), 9)
    assert found == mean | {"rule": "median", "attackers": 2, "repeated": 0}


def test_masked_groups_bear_attackers_while_enough_groups_are_left() -> None:
    robust = {"rule": "median", "attackers": 2, "groups": 6}
    masks = {"aggregation": ["masked"], "masking": {"min_clients": 3}}
    file = task({"min_available_clients": 20, "quorum": 15}, robust=robust, **masks)
    borne = {"updates": 20, "groups": 6, "rule": "median", "attackers": 2, "repeated": 0}
    assert tolerance(file, 20) == borne
    assert tolerance(file, 17, 5) == borne | {"updates": 17, "groups": 5}
    assert tolerance(file, 14, 4) == borne | {"updates": 14, "groups": 4, "attackers": 0}


def test_a_suspect_is_reported_with_reasons_and_rounds_and_without_its_account() -> None:
    book = ReputationBook(RULES, (), lambda _client: False)
    book.join("a" * 16, SuspectKey("account 77", "house"))
    for number in range(1, 5):
        book.round_ended(number, {"a" * 16: {"distance": 1.0}}, ["a" * 16] if number < 4 else [])
    (row,) = suspect_rows(book)
    timeline = row.pop("timeline")
    assert row == {
        "client": "a" * 16,
        "kept_for": "account",
        "share": 1.0,
        "quarantined": True,
        "quarantines": 1,
        "left": 9,
        "counts": False,
        "reasons": ["distance"],
    }
    assert [judged["counted"] for judged in timeline] == [True, True, True, False]
    assert timeline[0] == {"round": 1, "share": 1 / LIMIT, "evidence": {"distance": 1.0}, "counted": True}
    assert "77" not in str(row)
    assert "house" not in str(row)


def test_only_so_many_suspects_are_reported() -> None:
    book = ReputationBook(RULES, (), lambda _client: False)
    book.round_ended(1, {f"{client}": {"distance": 1.0} for client in range(MOST_REPORTED + 5)}, [])
    assert len(suspect_rows(book)) == MOST_REPORTED
