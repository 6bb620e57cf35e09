"""The cores of a simulated server's machine, which its parameter servers share."""

from __future__ import annotations

import asyncio
from itertools import count

from backend.simulation.units.shared_device import SharedDevice


class ServerCores:
    """Gives work a core on the virtual clock; where there is more work than cores, it shares them evenly."""

    def __init__(self, cores: int) -> None:
        self._device = SharedDevice(cores)
        self._numbers = count()

    async def compute(self, seconds: float) -> None:
        """Returns when work that takes `seconds` on a core of its own is done; stops it if cancelled."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def finish() -> None:
            if not done.done():
                done.set_result(None)

        number = next(self._numbers)
        self._device.start(number, 1, seconds, finish)
        try:
            await done
        finally:
            self._device.stop(number)
