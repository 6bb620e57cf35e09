"""Rules that owners try on kept updates are refused with the numbers where a round has too few for them."""

from __future__ import annotations

import msgspec
import pytest

from backend.errors import BadRequestError
from backend.server.rounds.reaggregation.rule_choice import RuleChoice
from backend.stores.updates.kept_rounds import KeptRound, KeptUpdate


def kept(number: int, updates: int, refused: int = 0) -> KeptRound:
    clients = [KeptUpdate(str(client), 1.0) for client in range(updates)]
    return KeptRound(
        run=1, round=number, version=number - 1, made=number, refused=refused, size=4, updates=clients
    )


def test_words_are_those_of_the_task_file() -> None:
    assert RuleChoice("multi-krum", 1, ("nnm",)).words == "nnm + multi-krum"
    assert RuleChoice("mean").is_mean
    assert not RuleChoice("mean", before=("arc",)).is_mean


def test_without_a_number_it_is_the_tasks_or_one_and_no_more_than_is_borne() -> None:
    rounds = [kept(1, 9), kept(2, 7)]
    assert RuleChoice("multi-krum").attackers_for(rounds, None) == 1
    assert RuleChoice("multi-krum").attackers_for(rounds, 2) == 2
    assert RuleChoice("multi-krum").attackers_for(rounds, 5) == 2
    assert RuleChoice("mean").attackers_for(rounds, 2) == 0


def test_too_many_attackers_are_refused_with_the_round_and_the_numbers() -> None:
    with pytest.raises(BadRequestError, match="Round 2 has 5 kept updates, of which multi-krum bears 1"):
        RuleChoice("multi-krum", 2).attackers_for([kept(1, 9), kept(2, 5)], None)
    with pytest.raises(BadRequestError, match="attackers is 2, which takes 7 updates"):
        RuleChoice("krum", 2).attackers_for([kept(2, 5)], None)
    with pytest.raises(BadRequestError, match="which it bears of no number of updates"):
        RuleChoice("mean", 1).attackers_for([kept(1, 9)], None)


def test_false_updates_that_were_refused_are_among_those_to_bear() -> None:
    assert RuleChoice("krum", 2).attackers_for([kept(1, 5, refused=1)], None) == 2
    assert RuleChoice("krum").attackers_for([kept(1, 5, refused=1)], 2) == 2


@pytest.mark.parametrize(
    "body",
    [
        b'{"rule": "best"}',
        b'{"rule": "krum", "attackers": -1}',
        b'{"rule": "krum", "before": ["static-clip"]}',
        b'{"rule": "krum", "before": ["nnm", "nnm", "nnm"]}',
        b'{"rule": "krum", "rounds": 3}',
    ],
)
def test_what_is_no_choice_is_refused(body: bytes) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(body, type=RuleChoice)
