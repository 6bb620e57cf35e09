"""Proposes a robust rule for the participants of a round: which one, and how many may lie (decision 0098)."""

from __future__ import annotations

from typing import Any

from backend.formats.task_file import TaskFile
from backend.server.estimates.robust.measured_rules import RULES, MeasuredRule

# One participant in so many may lie.
ATTACKED_SHARE = 5
# Processor seconds of a rule for each second that a round may last.
MOST_COST = 0.05


def expected_attackers(clients: int) -> int:
    """Returns how many of `clients` a rule is proposed to bear; 0 if there are too few."""
    return clients // ATTACKED_SHARE


def proposed_rule(clients: int, parameters: int | None, deadline: float) -> MeasuredRule | None:
    """Returns the first rule of the table that is cheap enough in rounds of `deadline` seconds, if any.

    Without a model (`parameters` None) its cost is unknown, and no obstacle.
    """
    if not expected_attackers(clients):
        return None
    allowed = MOST_COST * deadline
    return next((rule for rule in RULES if rule.cost(clients, parameters or 0) <= allowed), None)


def default_table(file: TaskFile, parameters: int) -> dict[str, Any] | None:
    """Returns the table [security.robust] that a new task gets by default; None if it gets none.

    `file` has no robust rule; `parameters` are those of its model. It bears a fifth of the clients with which
    a round begins, as no task is to wait for people who may not come.
    """
    clients = round_clients(file)
    rule = proposed_rule(clients, parameters, file.coordination.deadline) if is_open(file) else None
    return None if rule is None else rule.table(expected_attackers(clients))


def is_open(file: TaskFile) -> bool:
    """Whether strangers' single updates reach a server that may compare them."""
    rounds = file.coordination
    federated = not rounds.decentralized and not rounds.volunteer
    welcome = file.access.newcomers == "open" and not file.access.by_invitation
    sees = file.security.aggregation == ("open",) and file.privacy is None
    return federated and welcome and sees and not file.training.control_variates


def round_clients(file: TaskFile) -> int:
    """Returns the number of clients with which a round begins at least."""
    rounds = file.coordination
    if rounds.fraction_train == 1.0:
        return rounds.min_available_clients
    return min(rounds.min_available_clients, rounds.min_train_clients)
