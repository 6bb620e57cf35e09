"""Turns of owners: one job each, round and round, previews before an owner's other jobs."""

from __future__ import annotations

from backend.server.drafts.jobs.job_turns import JobTurns
from backend.server.drafts.record import Draft


def draft(owner: str, number: int) -> Draft:
    return Draft(f"{owner}{number}", owner, 0.0, 0.0, {})


def started(turns: JobTurns) -> str | None:
    job = turns.start()
    return None if job is None else f"{job.draft.id} {job.kind}"


def end(turns: JobTurns, owner: str) -> None:
    (job,) = [job for job in turns.running if job.owner == owner]
    turns.end(job)


def test_owners_take_turns_and_have_one_job_at_a_time() -> None:
    turns = JobTurns()
    for number in range(3):
        turns.add(draft("eve", number), "convert")
    turns.add(draft("bob", 0), "look")
    turns.add(draft("bob", 1), "look")
    turns.add(draft("cat", 0), "look")
    assert [started(turns) for _ in range(2)] == ["eve0 convert", "bob0 look"]
    end(turns, "eve")
    # Cat waits longer than eve's other jobs.
    assert started(turns) == "cat0 look"
    assert started(turns) == "eve1 convert"
    assert started(turns) is None
    end(turns, "bob")
    assert started(turns) == "bob1 look"


def test_a_preview_comes_before_its_owners_other_jobs_only() -> None:
    turns = JobTurns()
    first, second = draft("eve", 0), draft("bob", 0)
    turns.add(first, "convert")
    turns.add(second, "look")
    turns.add(second, "show", first=True)
    assert [started(turns) for _ in range(2)] == ["eve0 convert", "bob0 show"]


def test_a_removed_job_leaves_all_others_in_their_order() -> None:
    turns = JobTurns()
    one, two = draft("eve", 0), draft("bob", 0)
    for waiting in (one, two):
        turns.add(waiting, "look")
        turns.add(waiting, "convert")
    turns.remove(one, "look")
    turns.remove(one, "rehearse")
    assert [started(turns) for _ in range(2)] == ["eve0 convert", "bob0 look"]
    turns.remove(two, "convert")
    assert (turns.runs(two, "look") is not None, turns.runs(two, "convert")) == (True, None)
    end(turns, "bob")
    assert started(turns) is None


def test_a_job_waits_where_its_owner_has_one_or_all_workers_are_taken() -> None:
    turns = JobTurns()
    assert turns.is_due("eve", 2)
    turns.add(draft("eve", 0), "look")
    assert (turns.is_due("eve", 2), turns.is_due("bob", 2)) == (False, True)
    assert started(turns) == "eve0 look"
    turns.add(draft("bob", 0), "look")
    assert (turns.is_due("eve", 2), turns.is_due("cat", 2)) == (False, False)
