"""Handles the devices that a volunteer linked by a secret key (docs/reference/http.md)."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from backend.server.accounts.linked_devices import LinkedDevices, volunteer_digest
from backend.web.auth.sign_in import fresh
from backend.web.pages.participant_names import participant_name
from backend.web.requests.body import read_json
from backend.web.transport.client_address import UNKNOWN, household, read_address
from backend.wire.fields import Token

# 32 random bytes in base64url. The secret is in bodies only: addresses and logs never have it.
VolunteerKey = Annotated[str, Meta(pattern=r"^minga_devices_[A-Za-z0-9_-]{43}\Z")]


def routes() -> list[BaseRoute]:
    """Returns the routes."""
    return [
        Route("/api/devices", listing, methods=["POST"]),
        Route("/api/devices", link, methods=["PUT"]),
        Route("/api/devices", unlink, methods=["DELETE"]),
    ]


class KeyHolder(Struct, forbid_unknown_fields=True):
    """Body: the secret key of a volunteer."""

    key: VolunteerKey


class NewDevice(Struct, forbid_unknown_fields=True):
    """Body: the secret key of a volunteer, and the secret token of the client that becomes their device."""

    key: VolunteerKey
    token: Token
    name: Annotated[str, Meta(max_length=64)] = ""


class LeavingDevice(Struct, forbid_unknown_fields=True):
    """Body: the secret token of the client that is a device of nobody from now on."""

    token: Token


async def listing(request: Request) -> Response:
    """The devices of a key's holder, who alone sees them together."""
    body = await read_json(request, KeyHolder)
    return fresh(_devices(request, body.key))


async def link(request: Request) -> Response:
    """A client becomes a device of a key's holder, and no other's."""
    body = await read_json(request, NewDevice)
    address = household((request.client and read_address(request.client.host)) or UNKNOWN)
    await _linked(request).link(body.key, body.token, body.name, address)
    return fresh(_devices(request, body.key))


async def unlink(request: Request) -> Response:
    """A client is by itself again."""
    body = await read_json(request, LeavingDevice)
    await _linked(request).unlink(body.token)
    return Response(status_code=204)


def _devices(request: Request, key: str) -> dict[str, Any]:
    devices = _linked(request).devices_of(key)
    return {
        "name": participant_name(volunteer_digest(key)),
        "devices": [{"client": one.client, "name": one.name, "since": one.since} for one in devices],
    }


def _linked(request: Request) -> LinkedDevices:
    devices: LinkedDevices = request.app.state.devices
    return devices
