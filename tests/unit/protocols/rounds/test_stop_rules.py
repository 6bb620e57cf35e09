from __future__ import annotations

from backend.protocols.rounds.stop_rules import RunProgress, StopRules, Watched

ACCURACY = Watched("accuracy", upward=True)


def test_a_privacy_budget_ends_a_task_before_the_round_that_would_pass_it() -> None:
    progress = RunProgress(StopRules(participations=3, epsilon=8.0), participations=2)
    assert progress.reason() is None
    progress.participations = 3
    assert progress.reason() == (
        "The privacy budget is spent: after another round epsilon could be over 8 for a client that was in 3."
    )


def test_without_rules_nothing_stops() -> None:
    progress = RunProgress(StopRules(), spent=1e9)
    for version in range(50):
        progress.measured(version, "server", 1.0, {"accuracy": 1.0})
    assert progress.reason() is None


def test_a_target_stops_once_it_is_reached() -> None:
    progress = RunProgress(StopRules(ACCURACY, target=0.9))
    progress.measured(1, "server", 0.1, {"accuracy": 0.89})
    assert progress.reason() is None
    progress.measured(2, "server", 0.1, {"accuracy": 0.9})
    assert progress.reason() == "Version 2 reached the target of 0.9: accuracy 0.9."


def test_a_target_that_a_mean_reached_is_not_said_of_the_version_itself() -> None:
    progress = RunProgress(StopRules(ACCURACY, target=0.85), averaged=True)
    progress.measured(3, "server", 0.1, {"accuracy": 0.8532})
    assert progress.reason() == (
        "The mean of all evaluations in the epoch that made version 3 reached the target of 0.85: "
        "accuracy 0.8532."
    )


def test_a_target_of_the_loss_is_reached_from_above() -> None:
    progress = RunProgress(StopRules(target=0.5))
    progress.measured(1, "server", 0.51, {})
    assert progress.reason() is None
    progress.measured(2, "server", 0.5, {})
    assert progress.reason()


def test_patience_counts_versions_without_enough_progress() -> None:
    progress = RunProgress(StopRules(patience=3, min_delta=0.1))
    for version, loss in enumerate([1.0, 0.95, 0.85, 0.8, 0.76]):
        progress.measured(version, "server", loss, {})
        assert progress.reason() is None
    progress.measured(5, "server", 0.76, {})
    assert progress.reason() == "No progress of loss in 3 versions since version 2."


def test_evaluations_by_others_and_without_the_figure_do_not_count() -> None:
    progress = RunProgress(StopRules(ACCURACY, target=0.5, patience=1))
    progress.measured(1, "clients", 0.0, {"accuracy": 1.0})
    progress.measured(2, "server", 0.0, {})
    assert progress.reason() is None


def test_an_evaluation_that_comes_late_takes_no_progress_back() -> None:
    progress = RunProgress(StopRules(patience=2))
    progress.measured(5, "server", 0.5, {})
    progress.measured(2, "server", 0.1, {})
    assert (progress.best_at, progress.reason()) == (5, None)


def test_time_is_what_rounds_lasted() -> None:
    progress = RunProgress(StopRules(seconds=60.0), spent=59.9)
    assert progress.reason() is None
    progress.spent += 0.2
    assert progress.reason() == "The rounds lasted 60 of 60 seconds."
