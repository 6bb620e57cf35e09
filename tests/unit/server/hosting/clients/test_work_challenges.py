"""Challenges to a proof of work: for one task, client, time and difficulty, solved once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from backend.crypto.proof_of_work import PARTS, search
from backend.errors import BadWorkError, WorkRequiredError
from backend.server.hosting.clients import work_challenges
from backend.server.hosting.clients.work_challenges import LIFETIME_SECONDS, WorkChallenges

KEY, BITS = b"k" * 32, 10
ME, OTHER = "a" * 16, "b" * 16


class Clock:
    """A time of day that tests set."""

    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def challenges(
    task: str = "digits",
    bits: int = BITS,
    clock: Clock | None = None,
    key: bytes = KEY,
    known: Callable[[str], bool] = lambda _: False,
) -> WorkChallenges:
    return WorkChallenges(key, task, bits, known, clock or Clock(), trusted=["c" * 16])


def solution(text: str, bits: int = BITS) -> list[int]:
    seed = bytes.fromhex(text.partition(".")[2])
    nonces = [search(seed, part, bits, 0, 1 << 20) for part in range(PARTS)]
    return [nonce for nonce in nonces if nonce is not None]


def test_who_solved_a_challenge_may_join_and_is_not_asked_again() -> None:
    work = challenges()
    with pytest.raises(WorkRequiredError, match="about 1,024 hashes"):
        work.check(ME, "")
    issued = work.issue(ME)
    assert (issued.bits, issued.seconds) == (BITS, LIFETIME_SECONDS)
    work.solve(ME, issued.text, solution(issued.text))
    work.check(ME, "")
    assert not work.asks(ME, "")
    assert work.asks(OTHER, "")


def test_accounts_invitations_known_and_trusted_clients_are_not_asked() -> None:
    work = challenges(known=lambda client: client == OTHER)
    work.check(ME, "account 7")
    work.check(OTHER, "")
    work.check("c" * 16, "")
    assert work.asks(ME, "")


def test_a_solution_counts_once() -> None:
    work = challenges()
    text = work.issue(ME).text
    work.solve(ME, text, solution(text))
    with pytest.raises(BadWorkError, match="solved before"):
        work.solve(ME, text, solution(text))


def test_a_solution_is_for_one_client_one_task_one_server_and_one_difficulty() -> None:
    work = challenges()
    text = work.issue(ME).text
    with pytest.raises(BadWorkError, match="not for this task, this client"):
        work.solve(OTHER, text, solution(text))
    for foreign in (challenges("texts"), challenges(key=b"x" * 32), challenges(bits=BITS + 1)):
        with pytest.raises(BadWorkError, match="not for this task, this client"):
            foreign.solve(ME, text, solution(text))


def test_a_challenge_ends_and_none_is_of_the_future() -> None:
    clock = Clock()
    work = challenges(clock=clock)
    text = work.issue(ME).text
    clock.now += LIFETIME_SECONDS + 1
    with pytest.raises(BadWorkError, match="is over after 600 seconds"):
        work.solve(ME, text, solution(text))
    clock.now -= LIFETIME_SECONDS + 2
    with pytest.raises(BadWorkError, match="is over"):
        work.solve(ME, text, solution(text))


def test_too_little_work_is_refused() -> None:
    work = challenges(bits=14)
    text = work.issue(ME).text
    easy = solution(text, 10)
    assert len(easy) == PARTS
    for nonces in (easy, [], easy[:-1], [*solution(text, 14)[:-1], -1], [2**53 - 1] * PARTS):
        with pytest.raises(BadWorkError, match="do not prove the work"):
            work.solve(ME, text, nonces)
    assert work.asks(ME, "")


@pytest.mark.parametrize("text", ["", ".", "17", "x.y", "١٧.00", f"{'9' * 40}.{'0' * 64}", "17.ü", "-1.00"])
def test_what_is_no_challenge_is_refused(text: str) -> None:
    with pytest.raises(BadWorkError, match="challenge"):
        challenges().solve(ME, text, [0] * PARTS)


def test_questions_leave_nothing_behind_and_solutions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_challenges, "MAX_REMEMBERED", 3)
    work = challenges()
    before = repr(vars(work))
    for number in range(1000):
        work.issue(f"{number:016x}")
    assert repr(vars(work)) == before
    for number in range(5):
        text = work.issue(f"{number:016x}").text
        work.solve(f"{number:016x}", text, solution(text))
    assert [work.asks(f"{number:016x}", "") for number in range(5)] == [True, True, False, False, False]
