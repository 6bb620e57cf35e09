"""Renders the wizard's pages: the list of drafts, and each step of a draft (docs/reference/drafts.md)."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from backend.errors import NotFoundError
from backend.server.accounts.permissions import Requester, may
from backend.server.drafts.review.review import NEWCOMERS, VISIBILITY
from backend.server.drafts.review.wizard_steps import STEPS
from backend.server.drafts.transfer.url_data import data_origin
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.pictures.draft_pictures import DraftPictures
from backend.server.tasks.ethics_statement import BASES, PEOPLE
from backend.server.tasks.licences import DATA, MODELS
from backend.web.auth.identity import require, summaries_for
from backend.web.drafts.draft_requests import FRESH, draft_of, draft_service
from backend.web.pages.pages import page_route, render
from backend.web.transport.security_headers import POLICY, page_policy

# The choices of the steps `about` and `review`.
_CHOICES = {
    "licences": {"model": MODELS, "data": DATA},
    "bases": BASES,
    "peoples": PEOPLE,
    "visibilities": VISIBILITY,
    "newcomers": NEWCOMERS,
}


def routes() -> list[BaseRoute]:
    """Returns the routes of the wizard's pages."""
    return [
        page_route("/drafts", drafts),
        page_route("/drafts/{id}", draft),
        page_route("/drafts/{id}/{step}", step),
    ]


async def drafts(request: Request) -> Response:
    """Renders the list of the sender's drafts, and the form for a new one."""
    identity = await require(request, "create")
    own_drafts = [
        await draft_service(request).describe(own_draft)
        for own_draft in draft_service(request).drafts.of(identity.account or "")
    ]
    limits = request.app.state.settings.limits
    return _uncached(
        render(
            request,
            "pages/drafts.html",
            {"drafts": own_drafts, "limits": limits, "tasks": _editable_tasks(request, identity)},
        )
    )


async def draft(request: Request) -> Response:
    """Redirects to the first step that is not done."""
    current = await draft_of(request)
    name = await draft_service(request).next_step(current)
    return RedirectResponse(f"/drafts/{current.id}/{name}", 303, FRESH)


async def step(request: Request) -> Response:
    """Renders one step of the wizard."""
    current, name = await draft_of(request), request.path_params["step"]
    if name not in STEPS:
        raise NotFoundError(f"There is no such step; there are {', '.join(STEPS)}.")
    number = STEPS.index(name)
    pictures: DraftPictures = request.app.state.draft_pictures
    context = {
        "draft": await draft_service(request).describe(current),
        "step": name,
        "body": f"drafts/steps/{name}.html",
        "before": STEPS[number - 1] if number else None,
        "after": STEPS[number + 1] if number + 1 < len(STEPS) else None,
        "limits": request.app.state.settings.limits,
        "picture": pictures.of(current),
        **_CHOICES,
        "reachable": data_origin(current) if name == "data" else "",
        "models": await summaries_for(request) if name == "model" else [],
    }
    page = render(request, "pages/draft.html", context)
    # In the step `data`, the owner's browser fetches what volunteers' browsers will fetch.
    page.headers[POLICY] = page_policy(filter(None, [context["reachable"]]))
    return _uncached(page)


def _uncached(page: Response) -> Response:
    page.headers.update(FRESH)
    return page


def _editable_tasks(request: Request, identity: Requester) -> list[str]:
    """Returns the names of the tasks of which the sender may make new versions."""
    registry: TaskRegistry = request.app.state.tasks
    return sorted(host.name for host in registry.hosts if may(identity, "edit", registry.place(host.name)))
