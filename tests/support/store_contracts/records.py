"""Tests that every implementation of Records must pass. Subclasses provide the fixture `records`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from backend.errors import StoreError
from backend.stores.contracts import (
    AssimilationRecord,
    CheckpointRecord,
    CheckpointWrite,
    ContributionRecord,
    EvaluationRecord,
    IntegrityRecord,
    MeshGroupRecord,
    Records,
    ReputationRecord,
    RoundRecord,
    RoundResult,
    VersionRecord,
)

ZERO = VersionRecord(0, 0, "0" * 64, None, 0, 0, None, {}, 0.0, 100.0)
FIRST = VersionRecord(1, 1, "1" * 64, "2" * 64, 2, 40, 0.5, {"accuracy": 0.25}, 3.5, 200.0)
ROUND = RoundRecord(
    1,
    0,
    3,
    2,
    1,
    "version",
    "",
    3.5,
    200.0,
    {"not-finite": 1},
    rule="krum",
    left_out=["a" * 16],
    uncounted=["c" * 16],
    groups=3,
    groups_used=2,
    left_out_groups=[["b" * 16, "c" * 16]],
)
ANN = ContributionRecord("a" * 16, "browser", "webgl", 1, 0, 20)
BOB = ContributionRecord("b" * 16, "peer", "tensorflow", 1, 1, 20)
GROUP = MeshGroupRecord(1, 1024, {"b" * 16: "5" * 64, "a" * 16: ""})
LIAR = ReputationRecord("account x", "c" * 16, "9" * 32, 2.75, True, 1, 0, 0, [{"round": 1, "score": 2.75}])
NEW = ReputationRecord("d" * 16, "d" * 16, "9" * 32, 1.25, False, 0, 0, 2, [])
POINT = CheckpointRecord(300.0, 1, 4, "3" * 64, "4" * 64, 4, b"\x00more")
BLENDED = AssimilationRecord(
    1, 1, 7, 2, 0, 20, "a" * 16, "browser", "webgl", 0, 1, 2.5, 0.5, 150.0, 0.25, {"accuracy": 0.5}, 3, 60
)


class RecordsContract:
    """The contract's tests."""

    async def test_a_run_keeps_its_number(self, records: Records) -> None:
        first = await records.open_run("digits", "x" * 64)
        assert await records.openings(first) == 1
        assert await records.open_run("digits", "x" * 64) == first
        assert await records.openings(first) == 2
        assert await records.open_run("digits", "y" * 64) != first
        assert await records.open_run("letters", "x" * 64) != first

    async def test_a_new_run_is_empty(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        assert await records.last_round(run) == 0
        for ask in (records.versions, records.evaluations, records.contributions, records.rounds):
            assert await ask(run) == []

    async def test_version_zero_is_added_once(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        await records.add_first_version(run, ZERO)
        await records.add_first_version(run, replace(ZERO, created=999.0))
        assert await records.versions(run) == [ZERO]

    async def test_a_round_is_recorded_with_all_it_brought(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        await records.add_first_version(run, ZERO)
        await records.record(run, RoundResult(ROUND, [ANN, BOB], FIRST))
        assert await records.versions(run) == [ZERO, FIRST]
        assert await records.rounds(run) == [ROUND]
        assert await records.last_round(run) == 1
        assert await records.contributions(run) == [ANN, BOB]

    async def test_reputations_take_the_place_of_those_of_their_subjects(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        other = await records.open_run("letters", "x" * 64)
        await records.record(run, RoundResult(ROUND, reputations={NEW.subject: NEW, LIAR.subject: LIAR}))
        await records.write_reputations(other, {LIAR.subject: LIAR})
        assert await records.reputations(run) == [LIAR, NEW]
        calmer = replace(LIAR, score=0.5, quarantined=False, timeline=[])
        await records.write_reputations(run, {LIAR.subject: calmer, NEW.subject: None})
        assert await records.reputations(run) == [calmer]
        await records.record(run, RoundResult(replace(ROUND, round=2), reputations={LIAR.subject: None}))
        assert await records.reputations(run) == []
        assert await records.reputations(other) == [LIAR]
        await records.forget_task("letters")
        assert await records.reputations(other) == []

    async def test_groups_of_a_mesh_take_the_place_of_those_before(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        other = await records.open_run("letters", "x" * 64)
        await records.add_first_version(run, ZERO)
        for each in (run, other):
            await records.replace_mesh_groups(each, [GROUP])
        later = [MeshGroupRecord(1, 1 << 41, {"c" * 16: "6" * 64}), MeshGroupRecord(2, 1025, {})]
        await records.replace_mesh_groups(run, [*reversed(later), GROUP])
        assert await records.mesh_groups(run) == [GROUP, *later]
        assert list((await records.mesh_groups(run))[0].members) == ["b" * 16, "a" * 16]
        await records.record(run, RoundResult(ROUND, [], FIRST, later[:1]))
        assert await records.mesh_groups(run) == later[:1]
        await records.record(run, RoundResult(replace(ROUND, round=2, outcome="abandoned")))
        assert await records.mesh_groups(run) == later[:1]
        assert await records.mesh_groups(other) == [GROUP]
        await records.forget_task("digits")
        assert await records.mesh_groups(run) == []

    async def test_an_abandoned_round_leaves_no_version(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        lost = replace(ROUND, outcome="abandoned", reason="0 of at least 1 updates arrived in time.")
        await records.record(run, RoundResult(lost))
        assert await records.versions(run) == []
        assert await records.rounds(run) == [lost]
        assert await records.last_round(run) == 1

    async def test_contributions_add_up_and_the_latest_backend_stays(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        await records.record(run, RoundResult(ROUND, [ANN, BOB]))
        later = replace(ROUND, round=2)
        await records.record(run, RoundResult(later, [replace(BOB, backend="cuda", refused=0)]))
        assert await records.contributions(run) == [
            replace(BOB, backend="cuda", accepted=2, refused=1, examples=40),
            ANN,
        ]

    async def test_rounds_of_a_probation_add_up_and_go_with_their_task(self, records: Records) -> None:
        run, other = await records.open_run("digits", "x" * 64), await records.open_run("texts", "y" * 64)
        lost = replace(ROUND, outcome="abandoned", checked=2)
        await records.record(run, RoundResult(lost, checked=["account 7", "a" * 16]))
        await records.record(run, RoundResult(replace(ROUND, round=2), checked=["account 7", "b" * 16]))
        await records.record(other, RoundResult(ROUND, checked=["account 7"]))
        assert await records.checked(run) == {"account 7": 2, "a" * 16: 1, "b" * 16: 1}
        assert [record.checked for record in await records.rounds(run)] == [2, 0]
        await records.forget_task("digits")
        assert await records.checked(await records.open_run("digits", "x" * 64)) == {}
        assert await records.checked(other) == {"account 7": 1}

    @pytest.mark.parametrize("clash", ["round", "version"])
    async def test_a_result_is_recorded_whole_or_not_at_all(self, records: Records, clash: str) -> None:
        run = await records.open_run("digits", "x" * 64)
        await records.record(run, RoundResult(ROUND, [ANN], FIRST))
        second_round = ROUND if clash == "round" else replace(ROUND, round=2)
        second = replace(FIRST, version=2) if clash == "round" else FIRST
        with pytest.raises(StoreError):
            await records.record(run, RoundResult(second_round, [ANN], second))
        assert await records.versions(run) == [FIRST]
        assert await records.rounds(run) == [ROUND]
        assert await records.contributions(run) == [ANN]

    async def test_an_evaluation_replaces_an_older_one(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        await records.add_evaluation(run, EvaluationRecord(1, 0.9, {"accuracy": 0.1}))
        await records.add_evaluation(run, EvaluationRecord(0, 2.0, {}))
        await records.add_evaluation(run, EvaluationRecord(1, 0.5, {"accuracy": 0.8}))
        assert await records.evaluations(run) == [
            EvaluationRecord(0, 2.0, {}),
            EvaluationRecord(1, 0.5, {"accuracy": 0.8}),
        ]

    async def test_clients_and_server_evaluate_one_version(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        ours = EvaluationRecord(1, 0.9, {"accuracy": 0.1}, "server", 100)
        theirs = EvaluationRecord(1, 0.8, {"accuracy": 0.2}, "clients", 70)
        for one in (ours, theirs):
            await records.add_evaluation(run, one)
        assert await records.evaluations(run) == [theirs, ours]

    async def test_an_integrity_check_replaces_an_older_one(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        parts = [{"name": "trigger", "score": None, "reason": "It has one class."}]
        check = IntegrityRecord(2, "unmeasured", None, parts, None, "end", 30.0)
        await records.add_integrity(run, check)
        await records.add_integrity(run, IntegrityRecord(1, "passed", 0.25, [], 0, "schedule", 20.0))
        await records.add_integrity(run, replace(check, accepted=40.0))
        first, second = await records.integrity(run)
        assert (first.version, first.score, second) == (1, 0.25, replace(check, accepted=40.0))
        await records.forget_task("digits")
        assert await records.integrity(run) == []

    async def test_rounds_are_read_from_where_one_stopped(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        rounds = [replace(ROUND, round=number, outcome="abandoned") for number in range(1, 8)]
        for one in rounds:
            await records.record(run, RoundResult(one))
        assert await records.rounds(run, after=5) == rounds[5:]
        assert await records.rounds(run, last=3) == rounds[4:]
        assert await records.rounds(run, after=5, last=10) == rounds[5:]
        assert await records.rounds(run, after=7) == []
        assert await records.rounds(run, before=4) == rounds[:3]
        assert await records.rounds(run, last=2, before=6) == rounds[3:5]
        assert await records.rounds(run, after=3, before=3) == []

    async def test_a_version_let_go_names_its_blobs_no_more(self, records: Records) -> None:
        run = await records.open_run("digits", "b" * 64)
        full = replace(FIRST, control="3" * 64)
        await records.add_first_version(run, ZERO)
        await records.record(run, RoundResult(ROUND, [ANN], full))
        assert await records.named() == {"b" * 64, *(digit * 64 for digit in "0123")}
        assert await records.let_go(run, [1], 300.0) == {digit * 64 for digit in "123"}
        assert await records.named() == {"b" * 64, "0" * 64}
        assert await records.versions(run) == [ZERO, replace(full, let_go=300.0)]
        assert await records.gone("1" * 64) == ("digits", 1)
        assert await records.gone("0" * 64) is None

    async def test_what_another_version_or_run_names_is_not_let_go(self, records: Records) -> None:
        one, other = [await records.open_run(task, "x" * 64) for task in ("digits", "letters")]
        await records.record(one, RoundResult(ROUND, [], FIRST))
        twin = replace(FIRST, version=2, round=2, state="4" * 64)
        await records.record(one, RoundResult(replace(ROUND, round=2), [], twin))
        await records.record(other, RoundResult(ROUND, [], replace(FIRST, weights="5" * 64)))
        # The twin has the same weights, the other run the same state.
        assert await records.let_go(one, [1], 300.0) == set()
        assert await records.let_go(one, [2], 400.0) == {"1" * 64, "4" * 64}

    async def test_letting_go_of_nothing_is_nothing(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        assert await records.let_go(run, [], 300.0) == set()
        assert await records.let_go(run, [7], 300.0) == set()

    async def test_a_check_changes_nothing(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        await records.check()
        assert await records.open_run("digits", "x" * 64) == run

    async def test_the_longest_words_fit(self, records: Records) -> None:
        run = await records.open_run("d" * 64, "x" * 64)
        words = replace(ROUND, outcome="abandoned", reason="ä" * 500)
        await records.record(run, RoundResult(words, [replace(ANN, kind="k" * 16, backend="b" * 32)]))
        assert await records.rounds(run) == [words]

    async def test_runs_do_not_mix(self, records: Records) -> None:
        one = await records.open_run("digits", "x" * 64)
        other = await records.open_run("letters", "x" * 64)
        await records.record(one, RoundResult(ROUND, [ANN], FIRST))
        await records.add_evaluation(one, EvaluationRecord(1, 0.9, {}))
        assert await records.last_round(other) == 0
        for ask in (records.versions, records.evaluations, records.contributions, records.rounds):
            assert await ask(other) == []

    async def test_a_task_is_forgotten_with_all_its_runs_and_nothing_else(self, records: Records) -> None:
        runs = [await records.open_run("digits", letter * 64) for letter in "xy"]
        other = await records.open_run("letters", "x" * 64)
        for run in (*runs, other):
            await records.record(run, RoundResult(ROUND, [ANN], FIRST))
            await records.add_evaluation(run, EvaluationRecord(1, 0.5, {}))
        await records.forget_task("digits")
        assert await records.bundles() == {"x" * 64}
        assert await records.versions(other) == [FIRST]
        again = await records.open_run("digits", "x" * 64)
        for ask in (records.versions, records.evaluations, records.contributions, records.rounds):
            assert await ask(again) == []

    async def test_a_checkpoint_takes_the_place_of_the_one_before(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        assert await records.checkpoint(run) is None
        assert await records.write_checkpoint(run, CheckpointWrite(POINT)) == set()
        assert await records.checkpoint(run) == POINT
        assert {"3" * 64, "4" * 64} <= await records.named()
        other = replace(POINT, weights="5" * 64, slot=None, base=9)
        assert await records.write_checkpoint(run, CheckpointWrite(other)) == {"3" * 64, "4" * 64}
        assert await records.checkpoint(run) == other

    async def test_what_a_version_names_stays_when_a_checkpoint_goes_and_the_other_way_round(
        self, records: Records
    ) -> None:
        run = await records.open_run("digits", "x" * 64)
        await records.add_first_version(run, ZERO)
        same = replace(POINT, weights=FIRST.weights, slot=None)
        await records.write_checkpoint(run, CheckpointWrite(same), RoundResult(ROUND, [ANN], FIRST))
        assert await records.versions(run) == [ZERO, FIRST]
        assert await records.let_go(run, [1], 400.0) == {FIRST.state}
        assert await records.write_checkpoint(run, CheckpointWrite(POINT)) == {FIRST.weights}
        kept = replace(POINT, weights=ZERO.weights)
        await records.write_checkpoint(run, CheckpointWrite(kept))
        assert await records.write_checkpoint(run, CheckpointWrite(POINT)) == set()

    async def test_a_checkpoint_and_its_results_are_recorded_together_or_not_at_all(
        self, records: Records
    ) -> None:
        run = await records.open_run("digits", "x" * 64)
        await records.add_first_version(run, ZERO)
        await records.write_checkpoint(
            run, CheckpointWrite(POINT, [BLENDED]), RoundResult(ROUND, [ANN], FIRST)
        )
        later = replace(BLENDED, number=2)
        with pytest.raises(StoreError):
            await records.write_checkpoint(
                run, CheckpointWrite(replace(POINT, base=5), [later]), RoundResult(ROUND, [ANN], FIRST)
            )
        assert await records.assimilations(run) == [BLENDED]
        assert await records.checkpoint(run) == POINT
        assert await records.contributions(run) == [ANN]

    async def test_assimilations_are_kept_in_their_order_and_measured_later(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        rows = [replace(BLENDED, number=number, loss=None, metrics={}) for number in (1, 2, 3)]
        await records.write_checkpoint(run, CheckpointWrite(POINT, rows))
        await records.add_measurement(run, 2, 0.125, {"accuracy": 1.0})
        rows[1] = replace(rows[1], loss=0.125, metrics={"accuracy": 1.0})
        assert await records.assimilations(run) == rows
        assert await records.assimilations(run, last=2) == rows[1:]
        assert await records.assimilations(run, after=2) == rows[2:]
        other = await records.open_run("letters", "x" * 64)
        assert await records.assimilations(other) == []

    async def test_a_task_that_is_forgotten_leaves_no_work_units(self, records: Records) -> None:
        run = await records.open_run("digits", "x" * 64)
        await records.write_checkpoint(run, CheckpointWrite(POINT, [BLENDED]))
        await records.forget_task("digits")
        again = await records.open_run("digits", "x" * 64)
        assert await records.checkpoint(again) is None
        assert await records.assimilations(again) == []
        assert "3" * 64 not in await records.named()
