"""Renders the owners' pages for sign-in and their account."""

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
from backend.web.pages.sign_in_form import UNCACHED, show_sign_in, sign_in_by_form


def routes() -> list[BaseRoute]:
    """Returns the routes of the pages /sign-in and /account."""
    return [
        page_route("/sign-in", show_sign_in),
        page_route("/sign-in", sign_in_by_form, methods=["POST"]),
        page_route("/account", account),
    ]


async def account(request: Request) -> Response:
    """Renders the account's page, or redirects to the sign-in page."""
    identity = await identify(request)
    if identity.account is None:
        return RedirectResponse("/sign-in", 303, UNCACHED)
    summary = await account_summary(request, identity)
    place = request.app.state.tasks.place
    own_tasks = [
        (task, identity.roles.get(task["name"]))
        for task in await summaries_for(request)
        if may(identity, "inspect", place(task["name"]))
    ]
    # Do not offer scopes that the account may not use, nor one that no token may use yet.
    scopes = [scope for scope in SCOPES if scope != "share" and (identity.operator or scope != "administer")]
    service = draft_service(request)
    storage = {
        "taken": await service.measure(identity.account),
        "most": service.drafts.limits.max_owner_mib << 20,
    }
    context = {
        **summary,
        "room": storage,
        "tasks": own_tasks,
        "scopes": scopes,
        "others": await _other_accounts(request, identity),
    }
    page = render(request, "pages/account.html", context)
    page.headers.update(UNCACHED)
    return page


async def _other_accounts(
    request: Request, identity: Requester
) -> list[tuple[AccountRecord, dict[str, str]]]:
    """Returns all other accounts and their roles, for operators only."""
    if not identity.operator:
        return []
    records = access_of(request).records
    others = [record for record in await records.accounts() if record.id != identity.account]
    return [(record, await records.roles(record.id)) for record in others]
