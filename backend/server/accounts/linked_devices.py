"""Links the devices of one volunteer by a secret key that all of them have; it needs no account."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace

from backend.errors import TooFastError
from backend.protocols.token_bucket import Rate, TokenBuckets
from backend.stores.volunteer_devices import VolunteerDevice, VolunteerDevices
from backend.wire.client_id import client_id

# New links from one network address: a burst, then one in 20 s.
_LINKS = Rate(1 / 20, 10)
MAX_ADDRESSES = 20_000
# The device that was linked first is forgotten after that many of one volunteer.
MOST_DEVICES = 50
# Devices that have contributed nothing by then are forgotten at the server's start.
IDLE_SECONDS = 30 * 86_400.0


def volunteer_digest(key: str) -> str:
    """Returns the digest under which the devices of a key's holder are stored: it does not tell the key."""
    return hashlib.sha256(b"minga volunteer " + key.encode()).hexdigest()


class LinkedDevices:
    """Owns the links. `clock` gives Unix seconds, `monotonic` seconds that never go back.

    A link needs both secrets, the volunteer's key and the token of the client: neither a client's public id
    nor a digest is enough to claim a device, or to join another's.
    """

    def __init__(
        self, store: VolunteerDevices, clock: Callable[[], float], monotonic: Callable[[], float]
    ) -> None:
        self._store, self._clock, self._monotonic = store, clock, monotonic
        self._rates = TokenBuckets(_LINKS, MAX_ADDRESSES)
        self._devices: dict[str, VolunteerDevice] = {}
        self._clients: dict[str, dict[str, None]] = {}

    async def start(self) -> None:
        """Reads the links. Raises StoreError."""
        await self._store.clear(self._clock() - IDLE_SECONDS)
        for device in await self._store.devices():
            self._add(device)

    def volunteer_of(self, client: str) -> str:
        """Returns the digest of the volunteer whose device `client` is; "" for a device by itself."""
        device = self._devices.get(client)
        return device.volunteer if device else ""

    def devices_of(self, key: str) -> list[VolunteerDevice]:
        """Returns the devices of the holder of `key`, the first linked first."""
        return [self._devices[client] for client in self._clients.get(volunteer_digest(key), ())]

    async def link(self, key: str, token: str, name: str, address: str) -> None:
        """Links the client with the secret `token`, from `address`. Raises TooFastError and StoreError."""
        device = VolunteerDevice(client_id(token), volunteer_digest(key), name, self._clock())
        known = self._devices.get(device.client)
        if known and replace(known, since=device.since) == device:
            return
        if not self._rates.spend(address, self._monotonic()):
            raise TooFastError("Too many devices were linked from your network. Try again in a minute.")
        clients = [one for one in self._clients.get(device.volunteer, ()) if one != device.client]
        if len(clients) >= MOST_DEVICES:
            await self._forget(clients[0])
        await self._store.link(device)
        self._remove(device.client)
        self._add(device)

    async def unlink(self, token: str) -> None:
        """Ends the link of the client with the secret `token`, if there is one. Raises StoreError."""
        if (client := client_id(token)) in self._devices:
            await self._forget(client)

    async def _forget(self, client: str) -> None:
        await self._store.unlink(client)
        self._remove(client)

    def _add(self, device: VolunteerDevice) -> None:
        self._devices[device.client] = device
        self._clients.setdefault(device.volunteer, {})[device.client] = None

    def _remove(self, client: str) -> None:
        device = self._devices.pop(client, None)
        if device is None:
            return
        clients = self._clients[device.volunteer]
        del clients[client]
        if not clients:
            del self._clients[device.volunteer]
