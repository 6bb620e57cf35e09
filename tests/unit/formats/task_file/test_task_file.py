from __future__ import annotations

import inspect
import tomllib
from pathlib import Path
from typing import Any

import pytest

from backend.errors import TaskFileError
from backend.formats.task_file import Training, parse_task, read_task_file
from backend.formats.task_file.coordination import Coordination
from backend.formats.task_file.reading.hints import FLOWER
from backend.formats.task_file.server_optimizer import FedAvg, hyperparameters, name_of
from backend.numerics.aggregation.server_optimizers import SERVER_OPTIMIZERS
from backend.server.drafts.toml import to_toml
from tests.support.tasks.tiny_task import task_toml, write_task

REFERENCE = Path(__file__).parents[4] / "docs" / "reference" / "task-file.md"


def tables() -> dict[str, Any]:
    return tomllib.loads(task_toml("tiny", {}))


def changed(key: str, value: Any) -> dict[str, Any]:
    task = tables()
    *folders, last = key.split(".")
    table = task
    for folder in folders:
        table = table.setdefault(folder, {})
    table[last] = value
    return task


def example(word: str) -> dict[str, Any]:
    """The last example of the reference that has `word` in it."""
    blocks = [text.partition("```")[0] for text in REFERENCE.read_text().split("```toml\n")[1:]]
    return tomllib.loads([block for block in blocks if word in block][-1])


def test_the_example_of_the_reference_is_a_task_file() -> None:
    text = REFERENCE.read_text().partition("```toml\n")[2].partition("```")[0]
    task = parse_task(tomllib.loads(text), "task-file.md")
    assert (task.name, task.coordination.rounds, task.coordination.deadline) == ("digits", 50, 60.0)
    assert task.trial is not None
    assert task.trial.labels[-1] == "9"
    assert task.model.optimizer is not None
    assert task.model.optimizer.learning_rate == 0.003


def test_losses_and_metrics_of_the_reference_are_understood() -> None:
    said = example("loss_weights")
    task = tables()
    task["model"] |= said
    assert parse_task(task, "task-file.md").model.loss == said["loss"]


def test_the_objectives_of_the_reference_are_understood_and_written_again() -> None:
    said = example("model.objectives")
    task = tables()
    task["model"] |= said["model"]
    objectives = parse_task(task, "task-file.md").model.objectives
    assert objectives is not None
    assert [objective.trains for objective in objectives] == [["discriminator/*"], None]
    assert objectives[0].optimizer is not None
    assert tomllib.loads(to_toml(task)) == task


@pytest.mark.parametrize("key", ["loss", "loss_weights", "class_weight"])
def test_a_loss_beside_objectives_is_refused(key: str) -> None:
    task = tables()
    task["model"] |= example("model.objectives")["model"]
    task["model"][key] = "mse" if key == "loss" else [1.0]
    with pytest.raises(TaskFileError, match=f"leave `{key}` out"):
        parse_task(task, "here")


def test_the_optimizer_of_the_reference_is_understood() -> None:
    task = parse_task(changed("model.optimizer", example("schedule")["model"]["optimizer"]), "task-file.md")
    assert task.model.optimizer is not None
    assert task.model.optimizer.schedule is not None
    assert task.model.optimizer.schedule.warmup_steps == 500


def test_what_is_left_out_has_its_default() -> None:
    task = parse_task(tables(), "here")
    assert (task.training, task.topics, task.trial) == (Training(), [], None)
    assert task.coordination.server_optimizer == FedAvg(learning_rate=1.0)
    assert task.coordination.shortest_deadline == 10.0
    assert task.fraction_evaluate == 0.0


@pytest.mark.parametrize(
    "key",
    [
        "colour",
        "model.colour",
        "data.colour",
        "training.colour",
        "coordination.colour",
        "security.colour",
        "licence.colour",
        "model.optimizer.colour",
    ],
)
def test_an_unknown_key_is_refused_by_its_name(key: str) -> None:
    with pytest.raises(TaskFileError, match="unknown field `colour`"):
        parse_task(changed(key, "red"), "here")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "Digits"),
        ("name", "../digits"),
        ("name", "-digits"),
        ("name", ""),
        ("name", "x" * 65),
        ("model.batch_size", 0),
        ("model.batch_size", "32"),
        ("model.optimizer", {"name": "magic"}),
        ("model.objectives", []),
        ("model.objectives", [{"losses": []}]),
        ("model.objectives", [{"losses": [{"name": "mse"}], "optimizer": {"name": "magic"}}]),
        ("model.objectives", [{"losses": [{"name": "mse"}], "trains": []}]),
        ("model.optimizer", {"name": "adam", "schedule": {"name": "magic"}}),
        ("model.optimizer", {"name": "adam", "clipnorm": -1}),
        ("data.source", "satellite"),
        ("data.shards_per_client", 0),
        ("data.preprocess", {"kind": "array", "std": 0}),
        ("data.preprocess", {"kind": "sound"}),
        ("data.partition", {"kind": "dirichlet", "clients": 4}),
        ("data.partition", {"kind": "iid", "clients": 0}),
        ("data.holdout", 1),
        ("data.volunteer", {"minimum": 1}),
        ("data", {"source": "shards"}),
        ("data", {"source": "volunteer"}),
        ("data", {"source": "volunteer", "shards": "s", "preprocess": {"kind": "array"}}),
        ("data", {"source": "volunteer", "preprocess": {"kind": "array"}, "volunteer": {"holdout": 1}}),
        (
            "data",
            {
                "source": "volunteer",
                "preprocess": {"kind": "array"},
                "volunteer": {"minimum": 3, "maximum": 2},
            },
        ),
        ("training.epochs", 0),
        ("training.epochs", 1.5),
        ("training.steps", 0),
        ("training.proximal_mu", -1),
        ("coordination.fraction_train", 0),
        ("coordination.fraction_evaluate", 1.5),
        ("coordination.over_selection", -0.1),
        ("coordination.stop", {"patience": 0}),
        ("coordination.stop", {"target": {"metric": "accuracy"}}),
        ("coordination.scheme", "chaos"),
        ("coordination.rounds", 0),
        ("coordination.min_available_clients", 0),
        ("coordination.quorum", 0),
        ("coordination.deadline", 0),
        ("coordination.deadline", float("nan")),
        ("coordination.gather", -1),
        ("coordination.grace", -1),
        ("coordination.server_optimizer", {"name": "fedmagic"}),
        ("coordination.server_optimizer", {"name": "fedavgm", "momentum": 1.0}),
        ("security.max_update_norm", 0),
        ("security.max_update_norm", float("inf")),
        ("try", {"input": "Draw!"}),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_place(key: str, value: Any) -> None:
    with pytest.raises(TaskFileError, match=rf"here: .*`{key.partition('.')[0]}.*See docs"):
        parse_task(changed(key, value), "here")


@pytest.mark.parametrize("key", ["name", "title", "model", "data", "coordination"])
def test_what_is_missing_is_named(key: str) -> None:
    task = tables()
    del task[key]
    with pytest.raises(TaskFileError, match=f"`{key}`"):
        parse_task(task, "here")


def test_what_volunteers_bring_has_its_defaults() -> None:
    said = example('source = "volunteer"')["data"]
    task = parse_task(changed("data", said), "task-file.md")
    assert task.data.own is not None
    assert (task.data.own.minimum, task.data.own.maximum, task.data.own.holdout) == (10, 2000, 0.1)
    del said["volunteer"]
    left_out = parse_task(changed("data", said), "task-file.md").data.own
    assert left_out is not None
    assert (left_out.minimum, left_out.maximum, left_out.holdout) == (1, 100_000, 0.1)
    assert parse_task(tables(), "here").data.own is None


def test_momentum_belongs_to_fedavgm() -> None:
    with pytest.raises(TaskFileError, match="unknown field `momentum`"):
        parse_task(changed("coordination.server_optimizer", {"name": "fedavg", "momentum": 0.9}), "here")


@pytest.mark.parametrize("name", list(SERVER_OPTIMIZERS))
def test_every_server_optimizer_has_in_the_task_file_the_defaults_it_has_in_python(name: str) -> None:
    choice = parse_task(changed("coordination.server_optimizer", {"name": name}), "here")
    settings = hyperparameters(choice.coordination.server_optimizer)
    defaults = inspect.signature(SERVER_OPTIMIZERS[name]).parameters
    assert settings == {key: parameter.default for key, parameter in defaults.items()}
    assert name_of(choice.coordination.server_optimizer) == name


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("training", {"epochs": 2, "steps": 5}, "epochs or steps, not both"),
        ("coordination.min_deadline", 61, "min_deadline is over deadline"),
        ("coordination.stop", {"min_delta": 0.1}, "min_delta belongs to patience"),
    ],
)
def test_what_does_not_go_together_is_refused(key: str, value: Any, words: str) -> None:
    with pytest.raises(TaskFileError, match=words):
        parse_task(changed(key, value), "here")


def test_a_fraction_that_would_choose_fewer_than_the_quorum_is_refused() -> None:
    task = changed("coordination.quorum", 3)
    task["coordination"] |= {"min_available_clients": 10, "fraction_train": 0.2}
    with pytest.raises(TaskFileError, match="quorum is over min_train_clients"):
        parse_task(task, "here")


@pytest.mark.parametrize("table", ["training", "coordination"])
@pytest.mark.parametrize(("flowers", "name"), FLOWER.items())
def test_flowers_name_of_a_key_is_answered_with_ours(table: str, flowers: str, name: str) -> None:
    with pytest.raises(TaskFileError, match=f"Flower's {flowers} is called {name} here"):
        parse_task(changed(f"{table}.{flowers}", 1), "here")


@pytest.mark.parametrize("name", sorted({name for name in FLOWER.values() if " in " not in name}))
def test_what_flowers_users_are_told_to_write_exists(name: str) -> None:
    table, _, key = name.partition(".")
    tables = {"training": Training, "coordination": Coordination}
    assert key in tables[table].__struct_fields__


@pytest.mark.parametrize(
    ("metric", "mode", "upward"),
    [
        ("accuracy", "auto", True),
        ("loss", "auto", False),
        ("mae", "auto", False),
        ("digit_loss", "auto", False),
        ("root_mean_squared_error", "auto", False),
        ("accuracy", "min", False),
        ("loss", "max", True),
    ],
)
def test_a_target_knows_which_way_is_better(metric: str, mode: str, upward: bool) -> None:
    task = parse_task(
        changed("coordination.stop", {"target": {"metric": metric, "value": 0.5, "mode": mode}}), "here"
    )
    assert task.coordination.stop.target is not None
    assert task.coordination.stop.target.upward is upward


def test_a_quorum_that_cannot_be_reached_is_refused() -> None:
    with pytest.raises(TaskFileError, match="quorum is over min_available_clients"):
        parse_task(changed("coordination.quorum", 3), "here")


def test_overrides_are_checked_like_the_file(tmp_path: Path) -> None:
    path = write_task(tmp_path / "tiny") / "task.toml"
    task = read_task_file(
        path,
        [
            "coordination.min_available_clients=3",
            "title=A new title",
            "data.preprocess={ kind = 'array', scale = 0.5 }",
        ],
    )
    assert (task.coordination.min_available_clients, task.title) == (3, "A new title")
    assert task.data.preprocess is not None
    assert task.data.preprocess.scale == 0.5
    for override, words in (
        ("coordination.min_available_clients=none", "min_available_clients"),
        ("coordination.colour=1", "colour"),
        ("title", "is no override"),
        ("=3", "is no override"),
        ("title.x=3", "title is not a table"),
    ):
        with pytest.raises(TaskFileError, match=words):
            read_task_file(path, [override])


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match="cannot be read"):
        read_task_file(tmp_path / "task.toml")
    (tmp_path / "task.toml").write_text("name = ")
    with pytest.raises(TaskFileError, match="not valid TOML"):
        read_task_file(tmp_path / "task.toml")
    (tmp_path / "task.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(TaskFileError, match="cannot be read"):
        read_task_file(tmp_path / "task.toml")


OWN_DATA = {"source": "volunteer", "preprocess": {"kind": "array"}}
CENTRAL = {"mechanism": "central", "clip": 1.0, "noise_multiplier": 1.0}


def private(changes: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {**tables(), "privacy": {**CENTRAL, **changes}, **others}


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        (private({"mechanism": "local", "tree": True}), 'go with mechanism = "central"'),
        (private({"mechanism": "local", "adaptive": {"count_noise": 2.0}}), 'go with mechanism = "central"'),
        (private({"tree": True, "adaptive": {"count_noise": 2.0}}), "do not go together"),
        (private({"adaptive": {"count_noise": 0.5}}), "over the noise multiplier 1"),
        (private({"noise_multiplier": 0.0, "epsilon": 8.0}), "privacy.epsilon needs noise"),
        (private({"clip": 200.0}), "no update is ever clipped to privacy.clip = 200"),
        (private({}, training={"control_variates": True}), "made of updates without noise"),
        (private({}, security={"aggregation": ["masked"]}), "cannot be combined with masked updates"),
        (private({"mechanism": "distributed"}), r'needs security.aggregation = \["masked"\]'),
        (
            private(
                {"mechanism": "distributed"},
                security={"aggregation": ["masked"], "masking": {"clip": 2.0}},
            ),
            "clipped to privacy.clip, and each weighs 1",
        ),
        (private({"sigma": 3.0}), "unknown field `sigma`"),
        (private({"microbatch": 2}), 'microbatch goes with mechanism = "examples"'),
        (private({"mechanism": "examples", "tree": True}), 'go with mechanism = "central"'),
        (private({"mechanism": "examples"}), "visits to its examples are not counted"),
        (private({"mechanism": "examples", "microbatch": 99}, data=OWN_DATA), "more than a batch has"),
    ],
)
def test_privacy_that_contradicts_is_refused_with_what_would_work(
    task: dict[str, Any], sentence: str
) -> None:
    task["coordination"] |= {"min_available_clients": 8, "quorum": 8}
    with pytest.raises(TaskFileError, match=sentence):
        parse_task(task, "here")


def test_volunteers_with_data_of_their_own_measure_nothing_under_privacy() -> None:
    own = {"source": "volunteer", "preprocess": {"kind": "array"}}
    assert parse_task({**tables(), "data": own}, "here").fraction_evaluate == 1.0
    task = private({}, data=own)
    assert parse_task(task, "here").fraction_evaluate == 0.0
    task["coordination"]["fraction_evaluate"] = 0.5
    with pytest.raises(TaskFileError, match="what clients measure on their own examples gets no noise"):
        parse_task(task, "here")
