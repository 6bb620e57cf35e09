"""`minga peer evidence` says whom a file convicts, of what, when and why; or why nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from backend.protocols.mesh.byzantine.state import WorkCase
from backend.wire.ban_evidence import BanEvidence, encode_evidence
from backend.wire.byzantine_bodies import MadeBody, WorkFinding
from tests.integration.commands.command_runner import facts, minga
from tests.support.protocols.byzantine.played_turn import RUN, PlayedTurn, members, state_of

KEYS = members(4)
LIAR, OTHER, *_ = KEYS
STATE = state_of(KEYS)


def two_words() -> BanEvidence:
    turn = PlayedTurn(KEYS, STATE)
    said = turn.said["made", LIAR]
    return turn.evidence("two-words", LIAR, [said, turn.again(said, MadeBody(bytes([1] * 32)))])


def wrong_mean() -> BanEvidence:
    lie = {("made", LIAR): lambda body: replace(body, mean=bytes([1] * 32))}
    return PlayedTurn(KEYS, STATE, lies=lie).wrong_mean(LIAR)


def wrong_check() -> BanEvidence:
    lie = {("check", LIAR): lambda body: replace(body, lengths=[0.0] * 4)}
    return PlayedTurn(KEYS, STATE, lies=lie).wrong_check(LIAR, 3)


def verdict(accused: str, found: str) -> BanEvidence:
    case = WorkCase(LIAR, 5, OTHER)
    judges = [one for one in KEYS if one != accused]
    judgements = {one: [WorkFinding(LIAR, 5, found)] for one in judges}  # type: ignore[arg-type]
    turn = PlayedTurn(KEYS, replace(STATE, court=(case,)), judgements=judgements)
    said = [turn.said["commit", one] for one in (accused, *judges)]
    return turn.evidence("majority", accused, said)


def written(folder: Path, evidence: BanEvidence) -> Path:
    path = folder / "liar.evidence"
    path.write_bytes(encode_evidence(evidence))
    return path


@pytest.mark.parametrize(
    ("evidence", "what"),
    [
        (two_words(), "It said two different things in the phase 'made' of one turn."),
        (wrong_mean(), "The mean that it signed for part 0, which it owned, is wrong."),
        (wrong_check(), "The numbers that it signed about part 3 are wrong."),
        (verdict(LIAR, "other"), f"It did other work than its task. Client {OTHER} accused it."),
        (verdict(OTHER, "same"), f"It accused client {LIAR} of wrong work, falsely."),
    ],
    ids=["two-words", "wrong-mean", "wrong-check", "wrong-work", "false-accusation"],
)
def test_evidence_is_told_in_sentences(evidence: BanEvidence, what: str, tmp_path: Path) -> None:
    done = minga("peer", "evidence", written(tmp_path, evidence))
    assert (done.returncode, done.stderr) == (0, "")
    number = 5 if evidence.kind == "majority" else 7
    assert done.stdout.startswith(
        f"This evidence bans the key {evidence.identity.hex()} from the task 'digits'.\n"
        f"Who:   client {evidence.client}, the owner of that key.\n"
        f"What:  {what}\n"
        f"When:  in round {number} of the run {RUN[:16]}.\n"
    )


def test_programs_read_the_same_as_json(tmp_path: Path) -> None:
    found = facts("peer", "evidence", written(tmp_path, wrong_check()))
    assert (found["convicts"], found["kind"], found["client"], found["part"]) == (
        True,
        "wrong-check",
        LIAR,
        3,
    )
    assert (found["phase"], found["accuser"], found["round"], found["run"]) == (None, None, 7, RUN)


def test_what_convicts_nobody_is_told_with_the_reason(tmp_path: Path) -> None:
    path = written(tmp_path, PlayedTurn(KEYS, STATE).wrong_mean(LIAR))
    done = minga("peer", "evidence", path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == (
        "This evidence convicts nobody. The mean is right: made again of its pieces it has the same bits.\n"
    )
    done = minga("peer", "evidence", path, "--json")
    assert done.returncode == 1
    assert '{"convicts": false, "reason": "The mean is right' in done.stdout


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    done = minga("peer", "evidence", tmp_path / "none")
    assert done.returncode == 2
    assert "The evidence cannot be read" in done.stderr
