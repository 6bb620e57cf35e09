"""Writes advice for an owner after a trial, in sentences that say what to change."""

from __future__ import annotations

import math
from collections.abc import Iterator

from backend.formats.task_file import TaskFile
from backend.formats.task_file.coordination import Coordination
from backend.protocols.secagg.terms import degree
from backend.simulation.outcome import DeviceOutcome, RunFigures
from backend.wire.masked_messages import Server

# Shares above which a sentence is written.
ABANDONED, TOO_SLOW, FULL_LENGTH, WASTED, LINE = 0.1, 0.25, 0.5, 0.4, 0.7
# Minimum number of plans for a statement about a class of devices.
FEW_PLANS = 10
# A client leaves a tenth of the time free, so a deadline must exceed the time of its work.
ROOM = 1.25
LONGEST_DEADLINE = 86_400.0

PLURALS = {"phone": "phones", "laptop": "laptops", "gpu": "computers with a GPU"}


def advice(plan: RunFigures, file: TaskFile) -> list[str]:
    """Returns sentences of advice, the most urgent first; an empty list if nothing is wrong."""
    budget_advice = list(_spent(plan, file))
    if not plan.rounds:
        return budget_advice or [
            "No round ended: too few clients were ready at the same time. "
            "Lower coordination.min_available_clients, or ask more people."
        ]
    chosen = file.coordination
    slow = list(_slow(plan, file))
    lost = _not_unmasked(plan, file) if file.security.masks else _abandoned(plan, chosen, bool(slow))
    problems = [*budget_advice, *slow, *lost, *_waiting(plan, chosen, bool(slow))]
    return [*problems, *_wasted(plan), *_line(plan), *_ended(plan, file)]


def longer(seconds: float) -> float:
    """Rounds `seconds` up to a multiple of 5, 30 or 300, at most a day."""
    step = 5 if seconds <= 60 else 30 if seconds <= 600 else 300
    return min(LONGEST_DEADLINE, float(step * math.ceil(seconds / step)))


def _spent(plan: RunFigures, file: TaskFile) -> Iterator[str]:
    """Yields a sentence if the privacy budget ended the task."""
    privacy, reached, total_versions = file.privacy, plan.budget_spent_at, file.coordination.rounds
    if privacy is None or privacy.epsilon is None or reached is None or reached >= total_versions:
        return
    yield (
        f"privacy.epsilon = {privacy.epsilon:g} is spent at version {reached} of {total_versions}, "
        "where the task ends: raise privacy.noise_multiplier, ask more people, so that each is in fewer "
        "rounds, or make fewer versions (coordination.rounds)."
    )


def _slow(plan: RunFigures, file: TaskFile) -> Iterator[str]:
    chosen = file.coordination
    for device in plan.devices:
        share = _too_slow(device, file)
        if share <= TOO_SLOW or device.seconds_needed is None or device.seconds_given is None:
            continue
        deadline = longer(ROOM * device.seconds_needed)
        if deadline > chosen.deadline:
            remedy = f"raise coordination.deadline to {deadline:g}"
        elif chosen.adaptive_deadline:
            remedy = f"set coordination.min_deadline to {deadline:g}"
        else:
            continue
        yield (
            f"The time is too short for {PLURALS[device.device]}: {share:.0%} of their work was cut short or "
            f"came too late. Nine of ten need {device.seconds_needed:.0f} s, and rounds gave them "
            f"{device.seconds_given:.0f} s: {remedy}, or ask for less work (training, "
            "data.shards_per_client)."
        )


def _too_slow(device: DeviceOutcome, file: TaskFile) -> float:
    """Returns the share of a device's plans that had too little time.

    Late updates do not count with over-selection, where some are late on purpose, nor in masked rounds, where
    all are late if the round fails early.
    """
    if device.plans < FEW_PLANS:
        return 0.0
    late = 0.0 if file.coordination.over_selection or file.security.masks else device.late or 0.0
    return (device.cut_short or 0.0) + late


def _abandoned(plan: RunFigures, chosen: Coordination, slow: bool) -> Iterator[str]:
    share = plan.abandoned_share or 0.0
    if share <= ABANDONED:
        return
    remedies = ["lower coordination.quorum"] if chosen.quorum > 1 else []
    if chosen.fraction_train < 1.0:
        remedies.append("choose more clients than are wanted with coordination.over_selection")
    if not slow:
        remedies.append("raise coordination.min_available_clients, so that a few who drop out do not matter")
    text = ", or ".join(remedies) if remedies else "give them more time as said above"
    yield f"{share:.0%} of the rounds failed for lack of {chosen.quorum} updates: {text}."


def _not_unmasked(plan: RunFigures, file: TaskFile) -> Iterator[str]:
    """Yields a sentence if many masked rounds were abandoned, with what they lacked."""
    share, masking = plan.abandoned_share or 0.0, file.security.masked
    if share <= ABANDONED:
        return
    members = min(math.floor(plan.clients_per_round or 0.0), masking.most_clients)
    chosen = max(file.coordination.quorum, masking.min_clients)
    shares = _required_members(members, masking.server)
    remedies = ["ask for less work in a round (training, data.shards_per_client), so that fewer leave in it"]
    if chosen > shares:
        remedies += [
            "lower security.masking.min_clients and coordination.quorum",
            "raise coordination.min_available_clients, so that rounds begin with more",
        ]
    yield (
        f"{share:.0%} of the rounds failed: {members} clients were to be masked together in the median, and "
        f"fewer remained than the {max(chosen, shares)} that it takes to unmask their sum: "
        f"{', or '.join(remedies)}."
    )


def _required_members(members: int, server: Server) -> int:
    """Returns how many members must stay so that shares can be recovered.

    It is 1 if each member shares with a few neighbours only, not with all others.
    """
    neighbours, threshold = degree(members, server)
    return threshold if neighbours == members - 1 else 1


def _waiting(plan: RunFigures, chosen: Coordination, slow: bool) -> Iterator[str]:
    share = plan.full_length_share or 0.0
    if share <= FULL_LENGTH or slow:
        return
    remedy = (
        "A coordination.fraction_train below 1 with coordination.over_selection = 0.3 ends a round when "
        "enough updates are there."
        if not chosen.over_selection
        else "A larger coordination.over_selection, or a shorter deadline, ends them earlier."
    )
    yield (
        f"{share:.0%} of the rounds lasted until their deadline, waiting for clients that had dropped out. "
        f"{remedy}"
    )


def _wasted(plan: RunFigures) -> Iterator[str]:
    share = plan.wasted_work or 0.0
    if share > WASTED:
        yield (
            f"{share:.0%} of what clients trained is in no version. Rounds with less work (fewer epochs, "
            "steps or shards for each client) lose less when somebody leaves."
        )


def _line(plan: RunFigures) -> Iterator[str]:
    share = plan.server_line_share or 0.0
    if share > LINE:
        yield (
            f"The server's line was in use for {share:.0%} of the time: a cache or a proxy before it, a "
            "smaller coordination.fraction_train or a faster line (--server) makes rounds shorter."
        )


def _ended(plan: RunFigures, file: TaskFile) -> Iterator[str]:
    """Yields a sentence if the time limit stops the task before its last version."""
    limit, hours = file.coordination.stop.seconds, plan.hours_to_all_versions
    if limit is not None and hours is not None and 3600 * hours > limit:
        reached = math.floor(file.coordination.rounds * limit / (3600 * hours))
        yield (
            f"coordination.stop.seconds ends the task after {limit:g} s of rounds, which is enough for about "
            f"{reached} of its {file.coordination.rounds} versions."
        )
