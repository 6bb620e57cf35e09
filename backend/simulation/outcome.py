"""Computes the figures of a simulated task."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from backend.simulation.client_work import PlanAttempt
from backend.stores.contracts import RoundRecord, VersionRecord

# Reported times are enough for nine of ten clients of a device.
NEEDED_QUANTILE = 0.9
# Times that differ by at most this many seconds are equal except for rounding.
TOLERANCE = 1e-3


@dataclass(frozen=True)
class DeviceOutcome:
    """Figures of one class of devices. Shares are of its `plans`; counted, left and late add up to 1.

    `counted` updates were accepted (`cut_short` of them after fewer steps than planned). `left`: the client
    dropped out. `late`: the update was refused or did not arrive before its round ended. Nine of ten plans
    need at most `seconds_needed` from the plan to the update's last byte; the median plan allowed
    `seconds_given`.
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
    """Figures of one run; None if the denominator is 0.

    `hours` is the time from the opening of the first round to the end of the last. `full_length_share` is the
    share of rounds that lasted until their deadline. `clients_per_round` is the median number of clients at
    the start of a round. `wasted_work` is the share of all trained examples that entered no version.
    `budget_spent_at` is the version at which the privacy budget ended the task. Bytes include headers; those
    of clients are means per client and round. `server_line_share` is the utilisation of the server's line in
    its busier direction.
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
class TransferredBytes:
    """Bytes sent to clients (`down`) and received from them (`up`), and the server's rate in bytes/s."""

    down: float
    up: float
    rate: float

    def since(self, before: TransferredBytes) -> TransferredBytes:
        """Returns the bytes transferred after `before`."""
        return TransferredBytes(self.down - before.down, self.up - before.up, self.rate)

    def scaled(self, factor: float) -> TransferredBytes:
        """Returns `factor` times the bytes, at the same rate."""
        return TransferredBytes(factor * self.down, factor * self.up, self.rate)


def summarize(
    rounds: Sequence[RoundRecord],
    versions: Sequence[VersionRecord],
    attempts: Mapping[str, Sequence[Sequence[PlanAttempt]]],
    moved: TransferredBytes,
    total_versions: int,
    spent_version: int | None = None,
) -> RunFigures:
    """Computes the figures of `rounds` and of the `versions` they produced.

    `attempts` lists, for each device, the attempts of each of its clients. `total_versions` is the number of
    versions in the whole task; `spent_version` is its last version if the privacy budget ended it.
    """
    numbers = {record.round for record in rounds}
    attempts_by_device = {
        device: [[attempt for attempt in client if attempt.round in numbers] for client in clients]
        for device, clients in attempts.items()
    }
    all_attempts = [
        attempt for clients in attempts_by_device.values() for client in clients for attempt in client
    ]
    seconds = [record.seconds for record in rounds]
    hours = (rounds[-1].ended - rounds[0].ended + seconds[0]) / 3600 if rounds else 0.0
    counted = sum(record.examples for record in versions) or _counted(versions, all_attempts)
    trained = sum(attempt.examples for attempt in all_attempts)
    clients = sum(len(of_device) for of_device in attempts_by_device.values())
    return RunFigures(
        hours=hours,
        rounds=len(rounds),
        versions=len(versions),
        rounds_per_hour=per(len(rounds), hours),
        abandoned_share=per(sum(record.outcome == "abandoned" for record in rounds), len(rounds)),
        full_length_share=per(_full_length(rounds, all_attempts), len(rounds)),
        round_seconds_median=statistics.median(seconds) if seconds else None,
        round_seconds_longest=max(seconds, default=None),
        clients_per_round=statistics.median(record.cohort for record in rounds) if rounds else None,
        updates_per_version=per(sum(record.accepted for record in versions), len(versions)),
        examples_per_version=per(counted, len(versions)),
        wasted_work=per(max(0.0, trained - counted), trained),
        hours_to_all_versions=per(total_versions * hours, len(versions)),
        budget_spent_at=spent_version,
        client_bytes_down_per_round=per(moved.down, clients * len(rounds)),
        client_bytes_up_per_round=per(moved.up, clients * len(rounds)),
        server_bytes_out_per_round=per(moved.down, len(rounds)),
        server_bytes_in_per_round=per(moved.up, len(rounds)),
        server_line_share=per(max(moved.down, moved.up), moved.rate * 3600 * hours),
        devices=tuple(_of_device(device, clients) for device, clients in attempts_by_device.items()),
    )


def _counted(versions: Sequence[VersionRecord], all_attempts: Sequence[PlanAttempt]) -> float:
    """Counts the examples in versions whose records lack the number because of privacy."""
    made = {record.round for record in versions}
    return sum(attempt.examples for attempt in all_attempts if attempt.counted and attempt.round in made)


def _of_device(device: str, clients: Sequence[Sequence[PlanAttempt]]) -> DeviceOutcome:
    attempts = [attempt for client in clients for attempt in client]
    left = [attempt for attempt in attempts if attempt.broken and not attempt.counted]
    return DeviceOutcome(
        device=device,
        clients=len(clients),
        plans=len(attempts),
        counted=per(sum(attempt.counted for attempt in attempts), len(attempts)),
        cut_short=per(sum(attempt.counted and attempt.cut for attempt in attempts), len(attempts)),
        left=per(len(left), len(attempts)),
        late=per(
            sum(not attempt.counted and not attempt.broken for attempt in attempts),
            len(attempts),
        ),
        seconds_needed=quantile([attempt.needed for attempt in attempts], NEEDED_QUANTILE),
        seconds_given=quantile([attempt.seconds for attempt in attempts], 0.5),
    )


def _full_length(rounds: Sequence[RoundRecord], attempts: Iterable[PlanAttempt]) -> int:
    """Counts the rounds that lasted until the deadline in their plans."""
    given: dict[int, float] = {}
    for attempt in attempts:
        given[attempt.round] = max(attempt.seconds, given.get(attempt.round, 0.0))
    return sum(record.seconds >= given.get(record.round, float("inf")) - TOLERANCE for record in rounds)


def quantile(values: Sequence[float], share: float) -> float | None:
    """Returns the value that about `share` of the values do not exceed; None without any."""
    return sorted(values)[int(share * (len(values) - 1))] if values else None


def per(amount: float, of: float) -> float | None:
    """Returns `amount` / `of`; None if that is 0."""
    return amount / of if of else None
