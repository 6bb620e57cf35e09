from __future__ import annotations

from dataclasses import replace

from backend.formats.task_file.integrity import IntegrityTable
from backend.server.versions.promotion import (
    MOST_WAITING,
    Promotion,
    promotion_of,
    pushed_versions,
    sudden_falls,
)
from backend.stores.contracts import (
    EvaluationRecord,
    IntegrityOutcome,
    IntegrityRecord,
    VersionRecord,
)

ONE = VersionRecord(0, 0, "w0", None, 0, 0, None, {}, 0.0, 100.0)
EVERY_FIFTH = IntegrityTable(every=5)


def trained(count: int) -> list[VersionRecord]:
    return [ONE] + [replace(ONE, version=n, weights=f"w{n}", accepted=2) for n in range(1, count + 1)]


def checked(number: int, outcome: IntegrityOutcome, accepted: float | None = None) -> IntegrityRecord:
    return IntegrityRecord(number, outcome, 0.3, [], None, "schedule", 1.0, accepted)


def restored(versions: list[VersionRecord], earlier: int) -> list[VersionRecord]:
    """Adds the roll-back to an earlier version."""
    return [*versions, replace(versions[earlier], version=len(versions), accepted=0)]


def offered(promotion: Promotion) -> int:
    return promotion.offered.version


def test_the_owners_own_version_is_offered_until_another_one_passed() -> None:
    assert offered(promotion_of(trained(3), [])) == 0
    assert offered(promotion_of(trained(7), [checked(5, "passed")])) == 5
    outcomes: list[IntegrityOutcome] = ["failed", "undecided", "unmeasured"]
    for outcome in outcomes:
        assert offered(promotion_of(trained(7), [checked(5, outcome)])) == 0


def test_a_version_that_failed_leaves_the_last_that_passed_offered_and_asks_the_owner() -> None:
    promotion = promotion_of(trained(12), [checked(5, "passed"), checked(10, "failed")])
    assert offered(promotion) == 5
    assert promotion.question is not None
    assert promotion.question.version == 10
    assert promotion_of(trained(12), [checked(10, "undecided")]).question is None


def test_acceptance_offers_a_version_and_answers_the_question() -> None:
    promotion = promotion_of(trained(12), [checked(5, "passed"), checked(10, "failed", accepted=9.0)])
    assert (offered(promotion), promotion.question) == (10, None)


def test_a_roll_back_answers_the_question_and_offers_the_restored_version() -> None:
    versions = restored(trained(12), 5)
    promotion = promotion_of(versions, [checked(5, "passed"), checked(10, "failed")])
    assert (offered(promotion), promotion.question) == (13, None)
    assert not promotion.is_cleared(10)


def test_a_roll_back_to_a_version_that_failed_asks_again() -> None:
    versions = restored(restored(trained(12), 5), 10)
    promotion = promotion_of(versions, [checked(5, "passed"), checked(10, "failed")])
    assert promotion.question is not None
    assert (offered(promotion), promotion.question.version) == (5, 14)


def test_a_later_version_that_passes_answers_the_question() -> None:
    promotion = promotion_of(trained(15), [checked(10, "failed"), checked(15, "passed")])
    assert (offered(promotion), promotion.question) == (15, None)


def test_an_offered_version_has_its_files() -> None:
    versions = trained(10)
    versions[10] = replace(versions[10], let_go=5.0)
    assert offered(promotion_of(versions, [checked(5, "passed"), checked(10, "passed")])) == 5


def test_each_fifth_version_waits_and_the_last_of_a_task() -> None:
    versions = trained(11)
    assert promotion_of(versions, []).waiting(EVERY_FIFTH, {}, False) == {10: "schedule", 5: "schedule"}
    assert list(promotion_of(versions, []).waiting(EVERY_FIFTH, {}, True)) == [11, 10, 5]
    done = [checked(10, "passed")]
    assert promotion_of(versions, done).waiting(EVERY_FIFTH, {}, False) == {}
    assert promotion_of(versions, done).waiting(EVERY_FIFTH, {}, True) == {11: "end"}
    failed = [checked(10, "failed")]
    assert promotion_of(versions, failed).waiting(EVERY_FIFTH, {}, False) == {5: "schedule"}


def test_only_the_newest_versions_wait() -> None:
    waiting = promotion_of(trained(50), []).waiting(EVERY_FIFTH, {}, False)
    assert list(waiting) == [50, 45, 40, 35]
    assert len(waiting) == MOST_WAITING


def test_versions_left_behind_do_not_wait() -> None:
    versions = restored(trained(12), 0)
    assert promotion_of(versions, []).waiting(EVERY_FIFTH, {}, True) == {}


def measured(*accuracies: float | None) -> dict[int, EvaluationRecord]:
    """Evaluations of versions 0, 1 and so on; None for one that was not measured."""
    return {
        number: EvaluationRecord(number, 1.0, {"accuracy": accuracy})
        for number, accuracy in enumerate(accuracies)
        if accuracy is not None
    }


def test_a_version_that_is_suddenly_worse_is_checked_at_once() -> None:
    versions = trained(7)
    falls = sudden_falls(versions, measured(0.1, 0.9, 0.87, 0.8, None, 0.7, 0.71, 0.68))
    assert falls == {3: "fall", 5: "fall"}
    waiting = promotion_of(versions, [checked(2, "passed")]).waiting(EVERY_FIFTH, falls, False)
    assert waiting == {5: "fall", 3: "fall"}


def test_going_back_is_no_fall_and_models_without_accuracy_have_none() -> None:
    versions = restored(trained(2), 0)
    assert sudden_falls(versions, measured(0.1, 0.5, 0.9, 0.1)) == {}
    losses = {number: EvaluationRecord(number, float(number), {}) for number in range(3)}
    assert sudden_falls(trained(2), losses) == {}


def test_a_version_is_compared_with_that_of_its_check_or_the_newest_before_it_that_may_be_offered() -> None:
    versions = trained(12)
    promotion = promotion_of(versions, [checked(5, "passed"), replace(checked(10, "failed"), against=3)])
    assert [promotion.base_of(number) for number in (0, 5, 6, 10, 12)] == [None, 0, 5, 3, 5]
    assert [promotion.has_passed(number) for number in (0, 5, 10)] == [False, True, False]
    versions[3] = replace(versions[3], let_go=5.0)
    assert promotion.base_of(10) == 5


def test_updates_that_push_bring_one_check_in_so_many_versions() -> None:
    assert pushed_versions({7, 8, 9, 11, 12, 19}, 5) == {7: "updates", 12: "updates", 19: "updates"}
    waiting = promotion_of(trained(9), [checked(5, "passed")]).waiting(EVERY_FIFTH, {7: "updates"}, False)
    assert waiting == {7: "updates"}
