"""Asks Azure's Scheduled Events whether this virtual machine is about to be evicted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import httpx

from backend.errors import UnreachableError

EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
NAME = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"
# The machine goes away: a spot machine is evicted, or a machine of a scale set is deleted.
ENDS = frozenset({"Preempt", "Terminate"})


@dataclass
class Azure:
    """Azure's spot virtual machines, alone and in scale sets, through its instance metadata service.

    Azure gives thirty seconds of notice. Its first answer may take two minutes: the service is set up for a
    machine that asks.
    """

    root: str
    name: str = "Microsoft Azure"
    _machine: str = field(default="", repr=False)

    async def is_preempted(self, client: httpx.AsyncClient) -> bool:
        """Whether an event of this machine is scheduled or has started that ends it.

        `NotBefore` says when; work is handed in at once. Machines of a scale set get one another's events.
        """
        if not self._machine:
            answer = await self._get(client, NAME)
            if not (name := answer.text.strip()):
                raise UnreachableError(f"{self.root} is no metadata service of {self.name}.")
            self._machine = name
        try:
            document: Any = (await self._get(client, EVENTS)).json()
        except ValueError as error:
            raise UnreachableError(f"{self.root} is no metadata service of {self.name}.") from error
        events = document.get("Events") if isinstance(document, dict) else None
        if not isinstance(events, list):
            raise UnreachableError(f"{self.root} is no metadata service of {self.name}.")
        return any(self._ends_this_machine(event) for event in events if isinstance(event, dict))

    async def _get(self, client: httpx.AsyncClient, path: str) -> httpx.Response:
        answer = await client.get(self.root + path, headers={"Metadata": "true"})
        if answer.status_code != 200:
            raise UnreachableError(f"{self.root} is no metadata service of {self.name}.")
        return answer

    def _ends_this_machine(self, event: dict[str, Any]) -> bool:
        machines = event.get("Resources")
        if event.get("EventType") not in ENDS or not isinstance(machines, list):
            return False
        return self._machine.lower() in [str(machine).lower() for machine in machines]
