"""`/api/drafts`: handles drafts, from a model's file to the launch (docs/reference/drafts.md)."""

from __future__ import annotations

from typing import Annotated, Any, get_args

import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from backend.errors import NotFoundError
from backend.formats.task_file.types import Line, Name
from backend.server.drafts.record import JobKind
from backend.server.drafts.review.checklist import LOOKED, SHOWN
from backend.server.drafts.task_tables import MAX_BYTES
from backend.server.hosting.task_registry import TaskRegistry
from backend.translation import in_english
from backend.web.api.lineage import check_follows
from backend.web.auth.identity import require
from backend.web.drafts import estimates, pictures, starters, uploads
from backend.web.drafts.draft_requests import FRESH, draft_of, draft_service, json_response
from backend.web.requests.body import read_body, read_json
from backend.web.requests.query import number_asked

WATCH_SECONDS = 20.0


class DraftBody(Struct, forbid_unknown_fields=True):
    """A new draft; of one that goes `onward` the server begins work by itself, as soon as it can."""

    name: Name
    title: Line = ""
    onward: bool = False


class FromTaskBody(Struct, forbid_unknown_fields=True):
    """The task whose model a draft begins with."""

    task: Name


class TablesBody(Struct, forbid_unknown_fields=True):
    """Tables instead of those before, a text instead of that before."""

    task: dict[str, Any] | None = None
    onward: bool | None = None
    readme: Annotated[str, Meta(max_length=MAX_BYTES)] | None = None


class JobBody(Struct, forbid_unknown_fields=True):
    """Work to be done."""

    kind: JobKind


class Launch(Struct, forbid_unknown_fields=True):
    """How the task begins: with `test` for invited people, until its owner launches it."""

    test: bool = False


def routes() -> list[BaseRoute]:
    """Returns the routes of drafts."""
    return [
        Route("/api/drafts", drafts),
        Route("/api/drafts", begin, methods=["POST"]),
        Route("/api/drafts/{id}", show),
        Route("/api/drafts/{id}", change, methods=["PATCH"]),
        Route("/api/drafts/{id}", delete, methods=["DELETE"]),
        Route("/api/drafts/{id}/model", start, methods=["POST"]),
        Route("/api/drafts/{id}/task.toml", read_toml),
        Route("/api/drafts/{id}/task.toml", write_toml, methods=["PUT"]),
        Route("/api/drafts/{id}/jobs", ask, methods=["POST"]),
        Route("/api/drafts/{id}/jobs/{kind}", watch),
        Route("/api/drafts/{id}/jobs/{kind}", cancel, methods=["DELETE"]),
        Route("/api/drafts/{id}/pictures/{number:int}", picture),
        Route("/api/drafts/{id}/shown/{number:int}/{side}", shown),
        Route("/api/drafts/{id}/launch", launch, methods=["POST"]),
        *uploads.routes(),
        *pictures.routes(),
        *estimates.routes(),
        *starters.routes(),
    ]


async def drafts(request: Request) -> Response:
    """The reader's drafts, the newest first; with `name` also whether a new one may have that name."""
    identity, asked = await require(request, "create"), request.query_params.get("name")
    service, owner = draft_service(request), identity.account or ""
    checked = {} if asked is None else {"name": msgspec.to_builtins(await service.check_name(owner, asked))}
    own_drafts = service.drafts.of(owner)
    summaries = [
        {
            "id": draft.id,
            "name": draft.task.get("name"),
            "title": draft.task.get("title"),
            "created": draft.created,
            "changed": draft.changed,
        }
        for draft in own_drafts
    ]
    return json_response({"drafts": summaries, **checked})


async def begin(request: Request) -> Response:
    """A new draft."""
    identity = await require(request, "create")
    body = await read_json(request, DraftBody)
    draft = await draft_service(request).begin(identity.account or "", body.name, body.title, body.onward)
    return json_response(await draft_service(request).describe(draft), 201)


async def show(request: Request) -> Response:
    """Everything about a draft: files, jobs, inspection results, checklist."""
    return json_response(await draft_service(request).describe(await draft_of(request)))


async def change(request: Request) -> Response:
    """Saves the changes; the checklist reports invalid values."""
    draft = await draft_of(request)
    body = await read_json(request, TablesBody, 2 * MAX_BYTES)
    await draft_service(request).change(draft, body.task, body.readme, body.onward)
    return json_response(await draft_service(request).describe(draft))


async def start(request: Request) -> Response:
    """Begins with the model of a task that one may see."""
    draft = await draft_of(request)
    body = await read_json(request, FromTaskBody)
    await require(request, "view", body.task)
    registry: TaskRegistry = request.app.state.tasks
    await draft_service(request).start_with(draft, registry.task(body.task).folder)
    return json_response(await draft_service(request).describe(draft))


async def delete(request: Request) -> Response:
    """Deletes a draft, its files and its jobs."""
    await draft_service(request).delete(await draft_of(request))
    return Response(status_code=204)


async def read_toml(request: Request) -> Response:
    """The task file as text."""
    text = draft_service(request).toml(await draft_of(request))
    return PlainTextResponse(text, headers=FRESH, media_type="application/toml")


async def write_toml(request: Request) -> Response:
    """Takes a task file as text instead of the tables before."""
    draft = await draft_of(request)
    await draft_service(request).change_toml(draft, await read_body(request, MAX_BYTES))
    return json_response(await draft_service(request).describe(draft))


async def ask(request: Request) -> Response:
    """Begins work: `build`, `convert`, `look`, `cut` or `rehearse`."""
    draft = await draft_of(request)
    body = await read_json(request, JobBody)
    return json_response(msgspec.to_builtins(await draft_service(request).queue.ask(draft, body.kind)), 202)


async def watch(request: Request) -> Response:
    """A job, as soon as its log has more than `after` lines, or it is over."""
    draft, after = await draft_of(request), number_asked(request, "after", 0)
    job = await draft_service(request).queue.watch(draft, _kind(request), after, WATCH_SECONDS)
    return json_response(msgspec.to_builtins(job))


async def cancel(request: Request) -> Response:
    """Ends a job."""
    await draft_service(request).queue.cancel(await draft_of(request), _kind(request))
    return Response(status_code=204)


async def picture(request: Request) -> Response:
    """One of the small pictures that were made of the data."""
    draft = await draft_of(request)
    path = draft_service(request).drafts.folder(draft) / LOOKED / f"{request.path_params['number']}.png"
    if not path.is_file():
        raise NotFoundError("There is no such picture; inspect the data first.")
    return FileResponse(path, media_type="image/png", headers=FRESH)


async def shown(request: Request) -> Response:
    """A picture `before` its preprocessing, or `after` it, as the model gets it."""
    draft, number, side = await draft_of(request), request.path_params["number"], request.path_params["side"]
    name = {"before": f"{number}.png", "after": f"{number}-in.png"}.get(side)
    path = draft_service(request).drafts.folder(draft) / SHOWN / (name or "")
    if name is None or not path.is_file():
        raise NotFoundError("There is no such picture; request some examples first.")
    return FileResponse(path, media_type="image/png", headers=FRESH)


async def launch(request: Request) -> Response:
    """The draft becomes a task."""
    draft = await draft_of(request)
    await check_follows(request, draft.task.get("follows"))
    body = await read_json(request, Launch)
    # The task's host outlives this request, and what it tells clients is in English.
    with in_english():
        name = await draft_service(request).launch(draft, body.test)
    return json_response({"task": name, "address": f"/tasks/{name}"}, 201)


def _kind(request: Request) -> JobKind:
    kind: JobKind = request.path_params["kind"]
    if kind not in get_args(JobKind):
        raise NotFoundError(f"There is no such work; there are {', '.join(get_args(JobKind))}.")
    return kind
