"""Pages for owners: signing in, and their account."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from backend.server.accounts.permissions import SCOPES, Requester, may
from backend.stores.access import AccountRecord
from backend.web.auth.identity import identify, summaries_for
from backend.web.auth.sign_in import access_of, account_summary
from backend.web.drafts.draft_requests import draft_service
from backend.web.pages.pages import page_route, render

PRIVATE = {"Cache-Control": "no-store"}


def routes() -> list[BaseRoute]:
    """The pages /sign-in and /account."""
    return [page_route("/sign-in", sign_in), page_route("/account", account)]


async def sign_in(request: Request) -> Response:
    """Where one signs in; with a link, its code stands behind the #."""
    return _private(render(request, "account/sign-in.html", {}))


async def account(request: Request) -> Response:
    """What belongs to who is signed in; others sign in first."""
    identity = await identify(request)
    if identity.account is None:
        return RedirectResponse("/sign-in", 303, PRIVATE)
    told = await account_summary(request, identity)
    place = request.app.state.tasks.place
    mine = [
        (task, identity.roles.get(task["name"]))
        for task in await summaries_for(request)
        if may(identity, "inspect", place(task["name"]))
    ]
    # What only an operator may is not offered to others, nor what no token may do so far.
    scopes = [scope for scope in SCOPES if scope != "share" and (identity.operator or scope != "administer")]
    service = draft_service(request)
    room = {
        "taken": await service.measure(identity.account),
        "most": service.drafts.limits.max_owner_mib << 20,
    }
    context = {
        **told,
        "room": room,
        "tasks": mine,
        "scopes": scopes,
        "others": await _others(request, identity),
    }
    return _private(render(request, "account/account.html", context))


async def _others(request: Request, identity: Requester) -> list[tuple[AccountRecord, dict[str, str]]]:
    """Everybody else with an account and their roles, for operators."""
    if not identity.operator:
        return []
    records = access_of(request).records
    found = [one for one in await records.accounts() if one.id != identity.account]
    return [(one, await records.roles(one.id)) for one in found]


def _private(page: Response) -> Response:
    page.headers.update(PRIVATE)
    return page
