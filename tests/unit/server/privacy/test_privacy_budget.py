"""What a task tells of its clients' privacy."""

from __future__ import annotations

import msgspec
import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import PrivacyTable, TaskFile, parse_task
from backend.server.privacy.epsilon import Curve, gaussian_epsilon
from backend.server.privacy.privacy_budget import PrivacyBudget, open_account, terms, visits_of
from backend.stores.contracts import VersionRecord
from tests.unit.formats.task_file.test_task_file import tables

CENTRAL = PrivacyTable("central", 1.0, 2.0, epsilon=5.0)


def task(**privacy: object) -> TaskFile:
    content = tables()
    content["privacy"] = {"mechanism": "central", "clip": 1.0, "noise_multiplier": 2.0, **privacy}
    return parse_task(content, "here")


def version(number: int, made_with: PrivacyTable | None) -> VersionRecord:
    recorded = terms(made_with, 1.0, 1, 32) if made_with else None
    return VersionRecord(number, number, "0" * 64, None, 1, 0, None, {}, 0.0, 0.0, privacy=recorded)


async def test_epsilon_is_that_of_the_client_that_was_in_most_rounds() -> None:
    account = await open_account(task(epsilon=8.0), [version(0, None)], 10, 1)
    assert account is not None
    taken = account.taken({"ann": 3, "bob": 1}, opened=9, versions=9)
    told = account.report(taken, 1.0)
    assert (told["taken"], told["unit"], told["budget"]) == (3, "client", 8.0)
    assert told["epsilon"] == pytest.approx(gaussian_epsilon(2.0 / 3**0.5, 1e-5))
    assert told["most"] is not None
    assert gaussian_epsilon(2.0 / told["most"] ** 0.5, 1e-5) <= 8.0
    assert "but not the server" in told["sentence"]
    assert account.report(0, 1.0)["epsilon"] == 0.0


async def test_local_noise_is_counted_by_rounds_and_holds_against_the_server() -> None:
    content = tables()
    content["privacy"] = {"mechanism": "local", "clip": 1.0, "noise_multiplier": 4.0}
    account = await open_account(parse_task(content, "here"), [], 10, 1)
    assert account is not None
    assert account.taken({"ann": 3}, opened=9, versions=9) == 9
    told = account.report(9, 1.0)
    assert told["epsilon"] == pytest.approx(gaussian_epsilon(4.0 / 2 / 3, 1e-5))
    assert told["sentence"].startswith("The server and everybody else")


async def test_without_noise_a_sentence_stands_in_place_of_a_number() -> None:
    account = await open_account(task(noise_multiplier=0.0), [], 10, 1)
    assert account is not None
    told = account.report(5, 1.0)
    assert told["epsilon"] is None
    assert told["sentence"] == "Nothing is guaranteed: updates are clipped, but no noise is added."


async def test_numbers_that_mean_nothing_are_not_shown() -> None:
    account = await open_account(task(noise_multiplier=0.05), [], 10, 1)
    assert account is not None
    told = account.report(4, 1.0)
    assert told["epsilon"] is None
    assert "epsilon is over 100" in told["sentence"]


async def test_versions_made_with_less_noise_take_the_guarantee_away() -> None:
    weaker = msgspec.structs.replace(CENTRAL, noise_multiplier=0.5)
    versions = [version(0, None), version(1, None), version(2, weaker), version(3, CENTRAL)]
    account = await open_account(task(), versions, 10, 1)
    assert account is not None
    assert account.report(3, 1.0)["sentence"].startswith("Nothing is guaranteed: 2 versions had less noise")
    with pytest.raises(TaskFileError, match="2 versions were made with less noise"):
        await open_account(task(epsilon=8.0), versions, 10, 1)
    covered = await open_account(task(epsilon=8.0), [version(0, None), version(1, CENTRAL)], 10, 1)
    assert covered is not None
    assert covered.uncovered == 0


async def test_versions_whose_clip_followed_a_count_of_half_the_sensitivity_take_the_guarantee_away() -> None:
    def recorded(number: int, clip: float) -> VersionRecord:
        said = terms(CENTRAL, clip, 1, 32)
        del said["count_noise"]
        return VersionRecord(number, number, "0" * 64, None, 1, 0, None, {}, 0.0, 0.0, privacy=said)

    adaptive = task(adaptive={"count_noise": 2.5})
    clips = (0.9, 0.84, 0.97)
    before = [version(0, None), *(recorded(number, clip) for number, clip in enumerate(clips, 1))]
    since = version(4, adaptive.privacy)
    for file in (adaptive, task()):
        account = await open_account(file, [*before, since], 10, 1)
        assert account is not None
        assert account.uncovered == 3
        assert account.report(3, 1.0)["epsilon"] is None
    one_clip = [version(0, None), recorded(1, 1.0), recorded(2, 1.0)]
    account = await open_account(task(), one_clip, 10, 1)
    assert account is not None
    assert account.uncovered == 0


async def test_a_budget_that_is_not_enough_for_one_round_is_refused_with_what_would_be() -> None:
    with pytest.raises(TaskFileError, match=r"`minga privacy --epsilon 0.01 --rounds 100` says how far"):
        await open_account(task(epsilon=0.01), [], 10, 1)


async def test_without_the_table_there_is_no_account() -> None:
    assert await open_account(parse_task(tables(), "here"), [], 10, 1) is None


def test_between_places_of_a_long_curve_the_next_higher_epsilon_is_told() -> None:
    account = PrivacyBudget(CENTRAL, Curve([(1, 1.0), (10, 4.0), (20, 6.0)], None))
    assert [account.epsilon(taken) for taken in (1, 2, 10, 11, 20)] == [1.0, 4.0, 4.0, 6.0, 6.0]
    assert account.epsilon(21) is None


def examples_task(training: dict[str, object], **privacy: object) -> TaskFile:
    """Privacy of examples; a device has at least 40 of which it trains on 30."""
    content = tables()
    content["data"] = {
        "source": "volunteer",
        "preprocess": {"kind": "array"},
        "volunteer": {"minimum": 40, "holdout": 0.25},
    }
    content["training"] = training
    content["privacy"] = {"mechanism": "examples", "clip": 1.0, "noise_multiplier": 6.0, **privacy}
    return parse_task(content, "here")


async def test_every_visit_to_an_example_is_counted_and_the_unit_is_the_example() -> None:
    account = await open_account(examples_task({"epochs": 3}), [], 8, 1)
    assert account is not None
    assert account.taken({"ann": 1}, opened=4, versions=3) == 4
    told = account.report(4, 1.0)
    assert (told["unit"], told["mechanism"]) == ("example", "examples")
    assert told["epsilon"] == pytest.approx(gaussian_epsilon(6.0 / 12**0.5, 1e-5))
    assert "any one example" in told["sentence"]
    assert not any("A client is one name" in one for one in told["assumptions"])


async def test_an_example_in_a_larger_microbatch_is_protected_half_as_well() -> None:
    account = await open_account(examples_task({"epochs": 1}, microbatch=4), [], 8, 1)
    assert account is not None
    assert account.epsilon(1) == pytest.approx(gaussian_epsilon(3.0, 1e-5))


@pytest.mark.parametrize(
    ("training", "visits"),
    [
        ({}, 1),
        ({"epochs": 5}, 5),
        # 30 examples make 3 batches of 10: 7 steps begin a third visit.
        ({"steps": 7, "batch_size": 10}, 3),
        ({"steps": 6, "batch_size": 10}, 2),
    ],
)
def test_visits_in_a_round_are_those_of_the_smallest_client(training: dict[str, object], visits: int) -> None:
    assert visits_of(examples_task(training)) == visits


async def test_versions_made_with_fewer_visits_are_covered_and_with_more_are_not() -> None:
    task = examples_task({"epochs": 2})
    assert task.privacy is not None
    made = [
        VersionRecord(
            1, 1, "0" * 64, None, 1, 0, None, {}, 0.0, 0.0, privacy=terms(task.privacy, 1.0, often, 32)
        )
        for often in (1, 2, 3)
    ]
    account = await open_account(task, made, 8, 1)
    assert account is not None
    assert account.uncovered == 1


async def test_masked_sums_that_were_rounded_more_coarsely_are_not_covered() -> None:
    content = tables()
    content["privacy"] = {"mechanism": "distributed", "clip": 1.0, "noise_multiplier": 2.0}
    content["coordination"] |= {"min_available_clients": 8, "quorum": 8}
    content["security"] = {"aggregation": ["masked"]}
    fine = parse_task(content, "here")
    assert fine.privacy is not None
    before = [
        VersionRecord(
            1, 1, "0" * 64, None, 8, 0, None, {}, 0.0, 0.0, privacy=terms(fine.privacy, 1.0, 1, bits)
        )
        for bits in (32, 16)
    ]
    covered, uncovered = [await open_account(fine, [one], 10, 1) for one in before]
    assert covered is not None
    assert uncovered is not None
    assert (covered.uncovered, uncovered.uncovered) == (0, 1)
    # Restarts and rounds without a version count, too: the server may have seen their sums.
    assert covered.taken({"ann": 1}, opened=4, versions=1) == 4
