"""Handles invitations to tasks, and roles on them (docs/reference/http.md)."""

from __future__ import annotations

from typing import Annotated, Any

import segno
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from backend.errors import NotFoundError
from backend.server.accounts.permissions import ROLES, Role, may
from backend.server.accounts.secret_codes import id_of, new_code
from backend.server.accounts.sessions import DAY
from backend.web.auth.cookies import read_cookie, set_cookie
from backend.web.auth.identity import require
from backend.web.auth.sign_in import Code, access_of, fresh, identified, person
from backend.web.pages.pages import page_route, render
from backend.web.requests.body import read_json
from backend.web.transport.authorized_sockets import connections_of

# The longest time that browsers keep a cookie.
VISITOR_SECONDS = 400 * DAY


def routes() -> list[BaseRoute]:
    """Returns the routes of a task's invitations and roles, and of the page that an invitation opens."""
    return [
        page_route("/join", join_page),
        Route("/api/join", join, methods=["POST"]),
        page_route("/tasks/{name}/access", access_page),
        Route("/api/tasks/{name}/invitations", listing),
        Route("/api/tasks/{name}/invitations", invite, methods=["POST"]),
        Route("/api/tasks/{name}/invitations/{id}", revoke, methods=["DELETE"]),
        Route("/api/tasks/{name}/members", members),
        Route("/api/tasks/{name}/members", give_role, methods=["PUT"]),
    ]


class InvitationCode(Struct, forbid_unknown_fields=True):
    """The code of an invitation, from behind the # of its address."""

    code: Code


class NewInvitation(Struct, forbid_unknown_fields=True):
    """A requested invitation, for a number of people and days, or without limit."""

    note: Annotated[str, Meta(max_length=100)] = ""
    uses: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    days: Annotated[int, Meta(ge=1, le=3650)] | None = None


class GivenRole(Struct, forbid_unknown_fields=True):
    """Which role an account, by its name, is to have; null for none."""

    account: Annotated[str, Meta(min_length=1, max_length=64)]
    role: Role | None


async def join_page(request: Request) -> Response:
    """Renders the page that an invitation opens; its code is in the URL fragment."""
    return render(request, "pages/join.html", {})


async def join(request: Request) -> Response:
    """Lets a visitor in by an invitation, and has the browser remember."""
    body = await read_json(request, InvitationCode)
    visitor = read_cookie(request, "minga_visitor") or new_code()
    task = await access_of(request).invitations.admit(body.code, visitor)
    response = fresh({"task": task, "path": f"/tasks/{task}"})
    set_cookie(request, response, "minga_visitor", visitor, VISITOR_SECONDS)
    return response


async def access_page(request: Request) -> Response:
    """Renders the page with a task's invitations and roles."""
    name = request.path_params["name"]
    identity = await require(request, "manage", name)
    place = request.app.state.tasks.place(name)
    context = {
        "task": request.app.state.tasks.task(name).summary(),
        "visibility": place.visibility,
        "takes_invited": place.takes_invited,
        "invitations": await _invitations(request, name),
        "members": await access_of(request).roles.members(name),
        "roles": ROLES,
        "may_share": may(identity, "share", place),
    }
    page = render(request, "pages/access.html", context)
    page.headers["Cache-Control"] = "no-store"
    return page


async def listing(request: Request) -> Response:
    """The invitations to a task; their codes are not known any more."""
    name = request.path_params["name"]
    await require(request, "manage", name)
    return fresh({"invitations": await _invitations(request, name)})


async def invite(request: Request) -> Response:
    """A new invitation, whose code is shown this once: as an address, and as a picture for cameras."""
    name = request.path_params["name"]
    await require(request, "manage", name)
    body = await read_json(request, NewInvitation)
    code = await access_of(request).invitations.make(name, body.note, body.uses, body.days)
    address = f"{request.url.scheme}://{request.url.netloc}/join#{code}"
    qr_code = segno.make(address, error="m").svg_data_uri(scale=4, border=4, light="#fff")
    return fresh({"code": code, "address": address, "qr": qr_code}, 201)


async def revoke(request: Request) -> Response:
    """Revokes an invitation, and the access of people who used it."""
    name = request.path_params["name"]
    await require(request, "manage", name)
    if not await access_of(request).invitations.revoke(name, identified(request)):
        raise NotFoundError("There is no such invitation.")
    await connections_of(request).recheck()
    return Response(status_code=204)


async def members(request: Request) -> Response:
    """Who has a role on a task."""
    name = request.path_params["name"]
    await require(request, "inspect", name)
    members_found = await access_of(request).roles.members(name)
    return fresh({"members": [{"account": member.name, "role": member.role} for member in members_found]})


async def give_role(request: Request) -> Response:
    """Gives somebody a role on a task, another one, or none any more."""
    name = request.path_params["name"]
    await require(request, "share", name)
    await person(request)
    body = await read_json(request, GivenRole)
    await access_of(request).roles.grant_by_name(name, body.account, body.role)
    await connections_of(request).recheck()
    return Response(status_code=204)


async def _invitations(request: Request, name: str) -> list[dict[str, Any]]:
    return [
        {
            "id": id_of(invitation.secret),
            "note": invitation.note,
            "created": invitation.created,
            "expires": invitation.expires,
            "uses": invitation.uses,
            "used": invitation.used,
        }
        for invitation in await access_of(request).invitations.of(name)
    ]
