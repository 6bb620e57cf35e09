"""Adds hints to type errors of a task file: Minga's name for a Flower key, and an example."""

from __future__ import annotations

import re

import msgspec

# Flower's names, and the keys that Minga has instead.
FLOWER = {
    "num_rounds": "coordination.rounds",
    "num_server_rounds": "coordination.rounds",
    "fraction_fit": "coordination.fraction_train",
    "min_fit_clients": "coordination.min_train_clients",
    "min_train_nodes": "coordination.min_train_clients",
    "min_evaluate_nodes": "coordination.min_evaluate_clients",
    "min_available_nodes": "coordination.min_available_clients",
    "min_clients": "coordination.min_available_clients",
    "round_timeout": "coordination.deadline",
    "timeout": "coordination.deadline",
    "strategy": "coordination.server_optimizer",
    "server_learning_rate": "learning_rate in coordination.server_optimizer",
    "server_momentum": "momentum in coordination.server_optimizer",
    "eta_l": "training.learning_rate",
    "local_epochs": "training.epochs",
    "local-epochs": "training.epochs",
    "learning-rate": "training.learning_rate",
    "lr": "training.learning_rate",
    "batch-size": "training.batch_size",
    "proximal-mu": "training.proximal_mu",
    "num-server-rounds": "coordination.rounds",
    "fraction-train": "coordination.fraction_train",
    "fraction-evaluate": "coordination.fraction_evaluate",
}


# Examples of keys of [data.preprocess], by the last one or two names of the key's path.
EXAMPLES = {
    "preprocess.kind": 'kind = "image", "audio", "table", "text" or "array"',
    "size": "size = [32, 32], height and width",
    "tokenizer": 'tokenizer = "characters", "bytes", "words" or "pairs"',
    "length": "length = 64, tokens of an example",
    "columns": 'columns = [{ name = "Age", kind = "number" }, { name = "Sex", kind = "category" }]',
    "columns.kind": 'kind = "number" or "category"',
    "columns.missing": 'missing = "mean", "median" or a number; of a category "own" or "none"',
    "labels": 'labels = [{ name = "Survived", kind = "class" }], or kind = "number"',
    "labels.kind": 'kind = "class" or "number"',
    "classes": 'classes = ["cat", "dog"]',
    "categories": 'categories = ["red", "green"]',
}


def explain(error: msgspec.ValidationError, table: str = "") -> str:
    """Describes the error in sentences, with a hint or example if one exists.

    Paths in `error` are relative to `table`.
    """
    text = str(error).replace("Object missing required field ", "The key is missing: ")
    text = text.replace("Object ", "It ").replace("`$.", "`")
    return f"{text}.{_flower(text)}{_example(text, table)}"


def _flower(text: str) -> str:
    field = re.search(r"unknown field `([^`]+)`", text)
    name = FLOWER.get(field.group(1)) if field else None
    return f" Flower's {field.group(1)} is called {name} here." if field and name else ""


def _example(text: str, table: str) -> str:
    """Returns a sentence with an example of the key that is missing or of the wrong type."""
    if "unknown field" in text:
        return ""
    key = re.search(r"missing: `([^`]+)`", text)
    place = re.search(r"at `([^`]+)`", text)
    path = [table, place.group(1) if place else "", key.group(1) if key else ""]
    names = re.sub(r"\[[^]]*\]", "", ".".join(filter(None, path))).split(".")
    example = EXAMPLES.get(".".join(names[-2:])) or EXAMPLES.get(names[-1])
    return f" Write for example {example}." if example and "preprocess" in names else ""
