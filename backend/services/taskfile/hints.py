"""Hints for names that Flower gives to what is called otherwise here."""

from __future__ import annotations

import re

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


def hint(error: str) -> str:
    """What to write instead of the unknown field that `error` names, as a sentence with a space before it."""
    found = re.search(r"unknown field `([^`]+)`", error)
    name = FLOWER.get(found.group(1)) if found else None
    return f" Flower's {found.group(1)} is called {name} here." if found and name else ""
