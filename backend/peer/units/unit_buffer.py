"""The number of units that a peer holds, for a time without a connection."""

from __future__ import annotations

from backend.peer.session.progress import Reporter
from backend.peer.units.options import UnitOptions
from backend.protocols.client.unit_buffer import buffered_slots
from backend.protocols.client.unit_client import UnitClientMachine
from backend.protocols.client.unit_client_events import WantUnits
from backend.protocols.client.units_in_hand import UnitStage

# The memory for buffered units: a small part of what a peer's machine has.
MEMORY_BYTES = 2**30


class UnitBuffer:
    """Owns the number of units that a peer holds: more, once it knows how long one takes."""

    def __init__(self, options: UnitOptions, reporter: Reporter) -> None:
        self._options = options
        self._reporter = reporter
        self._allowed = 0
        self._unit_seconds = 0.0
        self._result_bytes = 0
        self._most_loaded = 0

    def allow(self, offline: int) -> None:
        """Takes the seconds that the task allows, and reports if they are fewer than asked for."""
        self._allowed = offline
        if self._options.offline > offline:
            sentence = f"This task leases units for at most {offline} s without a connection, not for longer."
            self._reporter.tell("offline", sentence, seconds=offline)

    def want(self) -> WantUnits:
        """Returns how many units to hold now."""
        offline = min(self._options.offline, self._allowed)
        at_once = self._options.at_once
        slots = buffered_slots(offline, at_once, self._unit_seconds, self._result_bytes, MEMORY_BYTES)
        return WantUnits(slots, at_once, offline)

    def loaded(self, held: UnitClientMachine) -> None:
        """Reports how many units can be trained offline when more than ever are loaded."""
        units = sum(one.stage in (UnitStage.QUEUED, UnitStage.TRAINING) for one in held.held.values())
        if held.offline and UnitStage.FETCHING not in held.hand.stages and units > self._most_loaded:
            self._most_loaded = units
            seconds = round(units * self._unit_seconds / self._options.at_once)
            sentence = f"{units} units are loaded: work for about {seconds} s without a connection."
            self._reporter.tell("buffered", sentence, units=units, seconds=seconds)

    def trained(self, seconds: float, result_bytes: int, held: UnitClientMachine) -> list[WantUnits]:
        """Takes how long the last unit was trained, and how long its result is; returns what to want now."""
        self._unit_seconds, self._result_bytes = seconds, result_bytes
        want = self.want()
        # A peer without slots has its reasons.
        is_new = held.slots and (want.slots, want.offline) != (held.slots, held.offline)
        return [want] if is_new else []
