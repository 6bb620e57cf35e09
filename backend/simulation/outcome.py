"""What a simulated task came to, in figures."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from backend.simulation.client_work import PlanAttempt
from backend.stores.contracts import RoundRecord, VersionRecord

# Nine of ten clients of a device need no longer than what is told of it.
MOST = 0.9
# Two times that are the same but for rounding.
SAME = 1e-3


@dataclass(frozen=True)
class DeviceOutcome:
    """How one class of devices did. Shares are of its `plans`; counted, left and late add up to 1.

    `counted` updates were accepted (`cut_short` of them after fewer steps than planned), `left` are those
    whose client dropped out, `late` those that were not there when their round ended, or refused. Nine of ten
    plans need no more than `seconds_needed` from the plan to the update's last byte; they were given
    `seconds_given` in the median.
    """

    device: str
    clients: int
    plans: int
    counted: float | None
    cut_short: float | None
    left: float | None
    late: float | None
    seconds_needed: float | None
    seconds_given: float | None


@dataclass(frozen=True)
class RunFigures:
    """Figures of one run; None where there is nothing to divide by.

    `hours` lie between the opening of the first round and the end of the last. `full_length_share` is the
    share of rounds that lasted as long as they might. `clients_per_round` is how many a round began with, in
    the median. `wasted_work` is the share of all trained examples that entered no version. `budget_spent_at`
    is the version with which the privacy budget ended the task. Bytes are those of everything, headers
    included; the clients' are means, for each round. `server_line_share` is how much of the server's line was
    in use, in the busier direction.
    """

    hours: float
    rounds: int
    versions: int
    rounds_per_hour: float | None
    abandoned_share: float | None
    full_length_share: float | None
    round_seconds_median: float | None
    round_seconds_longest: float | None
    clients_per_round: float | None
    updates_per_version: float | None
    examples_per_version: float | None
    wasted_work: float | None
    hours_to_all_versions: float | None
    budget_spent_at: int | None
    client_bytes_down_per_round: float | None
    client_bytes_up_per_round: float | None
    server_bytes_out_per_round: float | None
    server_bytes_in_per_round: float | None
    server_line_share: float | None
    devices: tuple[DeviceOutcome, ...]


@dataclass(frozen=True)
class Moved:
    """Bytes that went down to clients and up from them, and the server's bytes a second."""

    down: float
    up: float
    rate: float

    def since(self, before: Moved) -> Moved:
        """What was moved after `before`."""
        return Moved(self.down - before.down, self.up - before.up, self.rate)


def summarize(
    rounds: Sequence[RoundRecord],
    versions: Sequence[VersionRecord],
    attempts: Mapping[str, Sequence[Sequence[PlanAttempt]]],
    moved: Moved,
    wanted: int,
    spent: int | None = None,
) -> RunFigures:
    """The figures of `rounds` and of the `versions` they made; `wanted` is how many the task makes in all,
    `spent` the version that was its last, since its privacy budget was spent then.

    `attempts` has, for each device, those of each of its clients.
    """
    numbers = {one.round for one in rounds}
    tried = {
        device: [[one for one in client if one.round in numbers] for client in clients]
        for device, clients in attempts.items()
    }
    everything = [one for clients in tried.values() for client in clients for one in client]
    seconds = [one.seconds for one in rounds]
    hours = (rounds[-1].ended - rounds[0].ended + seconds[0]) / 3600 if rounds else 0.0
    counted = sum(one.examples for one in versions) or _counted(versions, everything)
    trained = sum(one.examples for one in everything)
    clients = sum(len(of_device) for of_device in tried.values())
    return RunFigures(
        hours=hours,
        rounds=len(rounds),
        versions=len(versions),
        rounds_per_hour=_per(len(rounds), hours),
        abandoned_share=_per(sum(one.outcome == "abandoned" for one in rounds), len(rounds)),
        full_length_share=_per(_full_length(rounds, everything), len(rounds)),
        round_seconds_median=statistics.median(seconds) if seconds else None,
        round_seconds_longest=max(seconds, default=None),
        clients_per_round=statistics.median(one.cohort for one in rounds) if rounds else None,
        updates_per_version=_per(sum(one.accepted for one in versions), len(versions)),
        examples_per_version=_per(counted, len(versions)),
        wasted_work=_per(max(0.0, trained - counted), trained),
        hours_to_all_versions=_per(wanted * hours, len(versions)),
        budget_spent_at=spent,
        client_bytes_down_per_round=_per(moved.down, clients * len(rounds)),
        client_bytes_up_per_round=_per(moved.up, clients * len(rounds)),
        server_bytes_out_per_round=_per(moved.down, len(rounds)),
        server_bytes_in_per_round=_per(moved.up, len(rounds)),
        server_line_share=_per(max(moved.down, moved.up), moved.rate * 3600 * hours),
        devices=tuple(_of_device(device, clients) for device, clients in tried.items()),
    )


def _counted(versions: Sequence[VersionRecord], everything: Sequence[PlanAttempt]) -> float:
    """Examples in versions that do not say it themselves, since their clients are private."""
    made = {one.round for one in versions}
    return sum(one.examples for one in everything if one.counted and one.round in made)


def _of_device(device: str, clients: Sequence[Sequence[PlanAttempt]]) -> DeviceOutcome:
    tried = [one for client in clients for one in client]
    left = [one for one in tried if one.broken and not one.counted]
    return DeviceOutcome(
        device=device,
        clients=len(clients),
        plans=len(tried),
        counted=_per(sum(one.counted for one in tried), len(tried)),
        cut_short=_per(sum(one.counted and one.cut for one in tried), len(tried)),
        left=_per(len(left), len(tried)),
        late=_per(sum(not one.counted and not one.broken for one in tried), len(tried)),
        seconds_needed=_quantile([one.needed for one in tried], MOST),
        seconds_given=_quantile([one.seconds for one in tried], 0.5),
    )


def _full_length(rounds: Sequence[RoundRecord], attempts: Iterable[PlanAttempt]) -> int:
    """How many rounds lasted as long as those who began with them were told."""
    told: dict[int, float] = {}
    for one in attempts:
        told[one.round] = max(one.seconds, told.get(one.round, 0.0))
    return sum(one.seconds >= told.get(one.round, float("inf")) - SAME for one in rounds)


def _quantile(values: Sequence[float], share: float) -> float | None:
    return sorted(values)[int(share * (len(values) - 1))] if values else None


def _per(amount: float, of: float) -> float | None:
    return amount / of if of else None
