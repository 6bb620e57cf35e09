"""Writes evidence.json: `python -m tests.contract.vectors.mesh.make_evidence`.

Evidence against members of a Byzantine mesh, with whom it convicts of what, or why nobody.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import msgspec
from msgspec.structs import replace

from backend.errors import EvidenceError
from backend.protocols.mesh.byzantine.evidence.conviction import convict
from backend.protocols.mesh.byzantine.state import WorkCase
from backend.wire.ban_evidence import BanEvidence, encode_evidence
from backend.wire.byzantine_bodies import Body, CheckBody, MadeBody, WorkFinding
from tests.contract.vectors import write
from tests.support.protocols.byzantine.played_turn import Lies, PlayedTurn, members, state_of

KEYS = members(5)
LIAR, OTHER, THIRD, *_ = KEYS
STATE = state_of(KEYS)
CASE = WorkCase(LIAR, 5, OTHER)
# One of the two that judged the third one's work lied.
DISPUTED = WorkCase(THIRD, 5, OTHER, LIAR)


def _other_mean(body: Body) -> Body:
    assert isinstance(body, MadeBody)
    return replace(body, mean=bytes([1] * 32))


def _other_numbers(body: Body) -> Body:
    assert isinstance(body, CheckBody)
    return replace(body, products=[0.0] * len(body.products))


MEAN: Lies = {("made", LIAR): _other_mean}
NUMBERS: Lies = {("check", LIAR): _other_numbers}


def two_words() -> BanEvidence:
    """Two means of one owner."""
    turn = PlayedTurn(KEYS, STATE)
    said = turn.said["made", LIAR]
    return turn.evidence("two-words", LIAR, [said, turn.again(said, MadeBody(bytes([1] * 32)))])


def court(accused: str, found: Any, case: WorkCase = CASE) -> BanEvidence:
    """A verdict of all others about the accused."""
    judges = [one for one in KEYS if one != accused]
    judgements = {one: [WorkFinding(case.target, case.round, found)] for one in judges}
    turn = PlayedTurn(KEYS, replace(STATE, court=(case,)), judgements=judgements)
    return turn.evidence("majority", accused, [turn.said["commit", one] for one in (accused, *judges)])


def court_without_the_accused() -> BanEvidence:
    """A verdict after the accused left: its last word was said in the round before."""
    before = PlayedTurn(KEYS, STATE)
    accused = replace(STATE, round=STATE.round + 1, before=STATE.digest(), court=(CASE,))
    judges = [one for one in KEYS if one != LIAR]
    judgements = {one: [WorkFinding(CASE.target, CASE.round, "other")] for one in judges}
    after = PlayedTurn(KEYS, accused, judgements=judgements, turn=2, active=judges)
    anchor = [before.said["commit", LIAR], *before.verdicts(accused)]
    evidence = after.evidence("majority", LIAR, after.all("commit"))
    return replace(evidence, turns=[before.of(anchor), *evidence.turns])


def evidence() -> dict[str, BanEvidence]:
    """All cases by name."""
    honest, of_zero = PlayedTurn(KEYS, STATE, [OTHER]), state_of(KEYS, 0.0)
    words, wrong = two_words(), PlayedTurn(KEYS, STATE, lies=MEAN).wrong_mean(LIAR)
    turn, made_up = words.turns[0], court(LIAR, "other")
    return {
        "two words": words,
        "a wrong mean": wrong,
        "a wrong mean before a radius was measured": PlayedTurn(KEYS, of_zero, lies=MEAN).wrong_mean(LIAR),
        "a wrong number": PlayedTurn(KEYS, STATE, lies=NUMBERS).wrong_check(LIAR, 2),
        "a wrong number before a radius was measured": PlayedTurn(KEYS, of_zero, lies=NUMBERS).wrong_check(
            LIAR, 0
        ),
        "other work": made_up,
        "a false accusation": court(OTHER, "same"),
        "false work of a newcomer called right": court(LIAR, "other", DISPUTED),
        "a false accusation of a newcomer": court(OTHER, "same", DISPUTED),
        "a newcomer whose work two members disagree on": court(THIRD, "other", DISPUTED),
        "other work of a member that left": court_without_the_accused(),
        "a right mean": honest.wrong_mean(LIAR),
        "right numbers": honest.wrong_check(LIAR, 2),
        "a right mean before a radius was measured": PlayedTurn(KEYS, of_zero).wrong_mean(THIRD),
        "right numbers before a radius was measured": PlayedTurn(KEYS, of_zero).wrong_check(THIRD, 1),
        "one word twice": replace(words, turns=[replace(turn, said=[turn.said[0], turn.said[0]])]),
        "another task": replace(words, task="other"),
        "another run": replace(words, run="cd" * 32),
        "another attempt": replace(words, turns=[replace(turn, attempt=(9, 9))]),
        "another key": replace(words, client=OTHER),
        "bytes of a piece are missing": replace(wrong, contents=wrong.contents[1:]),
        "bytes too many": replace(wrong, contents=[*wrong.contents, b"more"]),
        "a commitment is missing": replace(
            wrong, turns=[replace(wrong.turns[0], said=wrong.turns[0].said[1:])]
        ),
        "a minority": replace(made_up, turns=[replace(made_up.turns[0], said=made_up.turns[0].said[:3])]),
        "a court of strangers": replace(
            made_up, turns=[replace(made_up.turns[0], said=made_up.turns[0].said[1:])]
        ),
        "a state of an impossible radius": replace(
            words, turns=[replace(turn, state=msgspec.msgpack.encode(replace(STATE, radius=-1.0)))]
        ),
    }


def case(name: str, data: bytes) -> dict[str, Any]:
    """Returns what the evidence convicts of, or why not."""
    entry: dict[str, Any] = {"name": name, "hex": data.hex()}
    try:
        found = asdict(convict(data))
    except EvidenceError as error:
        return entry | {"reason": str(error)}
    found["round"] = found.pop("number")
    return entry | {"convicts": found | {"identity": found["identity"].hex()}}


def files() -> dict[str, str]:
    """The golden file and its content."""
    cases = [case(name, encode_evidence(one)) for name, one in evidence().items()]
    return {"evidence.json": json.dumps(cases, indent=1) + "\n"}


if __name__ == "__main__":
    write(files())
