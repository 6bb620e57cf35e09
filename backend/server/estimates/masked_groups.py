"""Says what the masked groups of a task give and cost: hidden updates, borne attackers, and noise."""

from __future__ import annotations

from backend.formats.task_file import TaskFile
from backend.numerics.aggregators.group_tolerance import trade_off


def group_sentence(file: TaskFile) -> str | None:
    """Returns the trade-off in rounds of the fewest clients; None without masked groups."""
    robust = file.security.robust
    if robust is None or robust.groups is None:
        return None
    rounds = file.coordination
    clients = rounds.min_available_clients if rounds.fraction_train == 1.0 else rounds.min_train_clients
    found = trade_off(clients, robust.groups, robust.most_attackers)
    noised = file.privacy is not None and file.privacy.noise_multiplier > 0.0
    noise = f" The mean has {found.noise:.2g} times the noise of one sum of all." if noised else ""
    return (
        f"{found.clients} clients in {found.groups} masked groups: an update is hidden among at least "
        f"{found.smallest}, and {robust.words} bears {found.borne} attackers wherever they are (attackers = "
        f"{robust.attackers}). Twice as many harm {found.chance_of_twice:.0%} of the rounds, by the lot of "
        f"groups.{noise}"
    )
