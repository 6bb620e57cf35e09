"""`minga simulate`, run as its users run it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from backend.commands.build import build_task
from tests.integration.commands import command_runner
from tests.support.tasks.tiny_task import bring_own, train_everything, write_task
from tests.support.timeouts import HEAVY

DIGITS = Path(__file__).parents[3] / "models" / "digits"
FEW = ("--clients", "12", "--rounds", "6", "--seed", "7")

minga = partial(command_runner.minga, "simulate")
facts = partial(command_runner.facts, "simulate")


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return write_task(tmp_path / "tiny", min_available_clients=4, quorum=2, deadline=5)


def test_the_same_seed_gives_the_same_figures_and_another_one_others(tiny: Path) -> None:
    first, again = facts(tiny, *FEW), facts(tiny / "task.toml", *FEW)
    assert first == again
    assert facts(tiny, *FEW[:-1], "8")["plan"] != first["plan"]


def test_the_figures_agree_with_each_other(tiny: Path) -> None:
    told = facts(tiny, *FEW, "--churn", "0.4")
    plan = told["plan"]
    assert plan["rounds"] == 6
    assert 0 < plan["versions"] <= 6
    assert plan["abandoned_share"] == 1 - plan["versions"] / 6
    assert plan["rounds_per_hour"] == pytest.approx(6 / plan["hours"])
    assert sum(one["clients"] for one in plan["devices"]) == 12
    for one in plan["devices"]:
        if one["plans"]:
            assert one["counted"] + one["left"] + one["late"] == pytest.approx(1.0)
            assert one["cut_short"] <= one["counted"]
    # Everybody gets the version, ten values of four bytes, and sends as much.
    assert plan["server_bytes_out_per_round"] == pytest.approx(12 * plan["client_bytes_down_per_round"])
    assert plan["server_bytes_in_per_round"] > plan["updates_per_version"] * plan["versions"] / 6 * 40


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_as_many_rounds_are_told_as_were_asked_for(tiny: Path, rounds: int) -> None:
    """Rounds that end within a second of each other, too."""
    words = (tiny, "--clients", "12", "--churn", "0", "--rounds", str(rounds))
    assert facts(*words)["plan"]["rounds"] == rounds


def test_a_task_of_the_gallery_is_found_by_its_name_from_any_folder(tmp_path: Path) -> None:
    done = minga("digits", "--clients", "4", "--rounds", "1")
    assert done.returncode == 0, done.stderr
    assert "Handwritten digits" in done.stdout


def test_nobody_who_drops_out_and_nobody_who_wastes_work_without_churn(tiny: Path) -> None:
    plan = facts(tiny, *FEW, "--churn", "0")["plan"]
    assert plan["abandoned_share"] == 0
    assert plan["wasted_work"] == pytest.approx(0.0)
    assert all(one["left"] in (0, None) for one in plan["devices"])


def test_volunteers_bring_data_of_their_own(tiny: Path) -> None:
    bring_own(tiny, minimum=20, maximum=40, holdout=0.5)
    plan = facts(tiny, *FEW, "--churn", "0", "--examples", "30")["plan"]
    # Half of what each brings is held out.
    assert 10 <= plan["examples_per_version"] / plan["updates_per_version"] <= 20


@pytest.mark.timeout(HEAVY)
@pytest.mark.tensorflow
def test_training_for_real_shows_what_becomes_of_the_model_and_changes_nothing_else() -> None:
    build_task(DIGITS)
    words = (DIGITS, "--clients", "5", "--rounds", "6", "--churn", "0.2")
    pretended, real = facts(*words), facts(*words, "--train")
    assert pretended["trained"] is None
    assert real["plan"] == pretended["plan"]
    trained = real["trained"]
    assert trained["steps"] > 0
    first, *_, last = trained["curve"]
    assert (first["version"], first["trained_loss"]) == (0, None)
    assert last["version"] == len(trained["curve"]) - 1 >= 6
    assert last["loss"] < first["loss"] / 2
    assert last["metrics"]["accuracy"] > 0.8 > 0.3 > first["metrics"]["accuracy"]


def test_what_volunteers_keep_to_themselves_cannot_be_trained_on(tiny: Path) -> None:
    bring_own(tiny, minimum=20, maximum=40, holdout=0.5)
    done = minga(tiny, *FEW, "--train")
    assert done.returncode == 2
    assert "--train needs data, and this task's stays with its volunteers" in done.stderr


def test_a_long_vector_takes_its_time_on_the_lines(tmp_path: Path) -> None:
    """Only a short one is really sent, which makes no difference to what is told."""
    task = write_task(tmp_path / "long", more=1_000_000, min_available_clients=4)
    changes = (
        "training.control_variates=true",
        "coordination.deadline=3600",
        "coordination.min_deadline=3600",
    )
    plan = facts(task, *FEW, "--churn", "0", *(word for change in changes for word in ("--set", change)))[
        "plan"
    ]
    update = 4 * 1_000_010
    assert update < plan["server_bytes_in_per_round"] / plan["updates_per_version"] < 1.05 * update
    # 4 MB in 10 Mbit/s.
    assert max(one["seconds_needed"] or 0.0 for one in plan["devices"]) > 3.2


def test_a_deadline_that_phones_cannot_meet_is_told_with_a_better_one(tiny: Path) -> None:
    path = tiny / "bundle" / "bundle.json"
    manifest = json.loads(path.read_text("utf-8"))
    manifest["flops"]["train"] = 200 * 10**9
    path.write_text(json.dumps(manifest), "utf-8")
    words = (tiny, "--devices", "phone", "--churn", "0", *FEW)
    (sentence,) = (one for one in facts(*words)["advice"] if "phones" in one)
    assert sentence.startswith("The time is too short for phones")
    better = sentence.partition("raise coordination.deadline to ")[2].partition(",")[0]
    again = facts(
        *words, "--set", f"coordination.deadline={better}", "--set", "coordination.adaptive_deadline=false"
    )
    assert not [one for one in again["advice"] if "too short" in one]


def test_the_report_fits_a_terminal_of_80_columns_and_says_what_is_meant(tiny: Path) -> None:
    done = minga(tiny, *FEW, "--churn", "0.5", "--variants")
    assert done.returncode == 0, done.stderr
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert max(len(line) for line in lines) <= 80
    assert "  Tiny  6 rounds with 12 clients, 50% of their work broken off" in lines
    for heading in ("  Devices", "  With one value changed"):
        assert heading in lines
    assert any("coordination.deadline=10" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--clients", "0"], "'0' is not a whole number of at least 1"),
        (["--clients", "100000"], "a task holds at most"),
        (["--churn", "2"], "'2' is not a share; give a number from 0 to 1"),
        (["--devices", "toaster=1"], "'toaster' is not a device"),
        (["--devices", "phone=-1"], "has no shares above 0"),
        (["--upload", "fast"], "'fast' is no number"),
        (["--clients", "3"], "3 clients are fewer than the 4 that this task waits for"),
        (["--set", "coordination.deadline=-5"], "coordination.deadline"),
        (["--set", "coordination.quorum=9"], "quorum is over min_available_clients"),
        (
            ["--set", "coordination.scheme=decentralized", "--set", "security.max_update_norm=100"],
            "a decentralized task cannot be simulated",
        ),
    ],
)
def test_what_cannot_be_tried_is_refused_with_a_sentence(tiny: Path, words: list[str], sentence: str) -> None:
    done = minga(tiny, *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_without_a_task_is_told(tmp_path: Path) -> None:
    done = minga(tmp_path)
    assert done.returncode == 2
    assert "There is no task file at" in done.stderr
    named = minga("digitz")
    assert named.returncode == 2
    assert "a task of the gallery: cifar10, digits" in named.stderr


MASKED = ("security.aggregation=['masked']", "security.masking.min_clients=6", "coordination.quorum=6")


def chosen(*changes: str) -> list[str]:
    return [word for change in changes for word in ("--set", change)]


@pytest.mark.long
def test_a_masked_task_is_tried_and_advice_says_what_its_rounds_lack(tiny: Path) -> None:
    masked = chosen(*MASKED, "coordination.min_available_clients=8")
    words: tuple[str | Path, ...] = (tiny, "--clients", "12", "--rounds", "12", *masked)
    calm, restless = facts(*words, "--churn", "0"), facts(*words, "--churn", "0.5")
    assert calm["plan"]["abandoned_share"] == 0.0
    assert calm["plan"]["updates_per_version"] == calm["plan"]["clients_per_round"] == 12
    assert calm["advice"] == []
    assert restless == facts(*words, "--churn", "0.5")
    assert restless["plan"]["abandoned_share"] > 0.2
    (sentence,) = (one for one in restless["advice"] if "of the rounds failed" in one)
    members = restless["plan"]["clients_per_round"]
    assert f"{members:.0f} clients were to be masked together" in sentence
    assert "that it takes to unmask their sum" in sentence


def test_a_privacy_budget_ends_a_trial_where_it_would_end_the_task(tiny: Path) -> None:
    train_everything(tiny)
    changes = ("privacy.mechanism='central'", "privacy.clip=1.0", "privacy.noise_multiplier=10.0")
    plan = chosen(*changes, "privacy.epsilon=2", "coordination.rounds=40")
    told = facts(tiny, "--clients", "6", "--rounds", "40", "--churn", "0", *plan)
    spent = told["plan"]["budget_spent_at"]
    # The first two rounds are not counted.
    assert 0 < told["plan"]["rounds"] == spent - 2 < 38
    assert told["advice"][0].startswith(f"privacy.epsilon = 2 is spent at version {spent} of 40")
    assert facts(tiny, "--clients", "6", "--rounds", "2", *plan)["plan"]["budget_spent_at"] is None
