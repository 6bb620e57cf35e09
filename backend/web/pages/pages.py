"""Renders the pages of the gallery and of tasks; all but the training page work without scripts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from backend.formats.task_file import exactness
from backend.server.estimates.devices import DEVICES
from backend.server.estimates.exact_cost import exact_costs
from backend.server.estimates.traffic import round_bytes
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.mesh.averaging_plan import averages_of
from backend.server.pictures.task_pictures import TaskPictures
from backend.server.tasks.client_terms import own_noise
from backend.server.tasks.ethics_statement import publication
from backend.server.tasks.gallery import Search, by_need, topics
from backend.server.tasks.model_inspection import fastest
from backend.web.api.lineage import lineage
from backend.web.auth.identity import account_name, identify, summaries_for
from backend.web.pages.languages import FALLBACK, catalogue, negotiated
from backend.web.pages.live_parts import asks_for_live_parts, render_live_parts
from backend.web.pages.reader_language import ReaderLanguage
from backend.web.pages.task_picture import picture
from backend.web.pages.template_words import TemplateWords
from backend.web.requests.query import number_asked
from backend.web.schemes import WEB_SCHEMES
from backend.web.transport.security_headers import PERMISSIONS, POLICY, WITH_DEVICE, page_policy

SOURCES = "webapp/static/src/entries"
TRANSLATIONS = "webapp/locales"
RECENT_ROUNDS, ROUNDS_PER_PAGE = 3, 50


def routes() -> list[BaseRoute]:
    """Returns the routes of the gallery, the four pages of a task, and the logo as the pages' icon."""
    return [
        page_route("/", gallery),
        Route("/favicon.svg", favicon, name="favicon"),
        page_route("/tasks/{name}", task),
        page_route("/tasks/{name}/model", model),
        page_route("/tasks/{name}/rounds", rounds),
        page_route("/tasks/{name}/train", train),
    ]


def page_route(
    path: str, endpoint: Callable[[Request], Awaitable[Response]], methods: Collection[str] | None = None
) -> Route:
    """Returns a page's route in its reader's language, with compression, which shrinks it to a third.

    Its reader is identified first, because the header of every page names their account.
    """

    @wraps(endpoint)
    async def identified(request: Request) -> Response:
        await identify(request)
        return await endpoint(request)

    middleware = [Middleware(GZipMiddleware), Middleware(ReaderLanguage)]
    return Route(path, identified, methods=methods, middleware=middleware)


async def gallery(request: Request) -> Response:
    query = request.query_params
    search = Search(query.get("q", "").strip(), query.get("topic", ""))
    tasks = by_need(task for task in await summaries_for(request) if task["state"] != "archived")
    matches = sum(search.matches(task) for task in tasks)
    context = {
        "tasks": tasks,
        "open": [task for task in tasks if task["phase"] != "finished"],
        "pictures": {task["name"]: _pictures(request).of(task["name"]) for task in tasks},
        "finished": [task for task in tasks if task["phase"] == "finished"],
        "topics": topics(tasks),
        "search": search,
        "found": matches,
    }
    return render(request, "pages/gallery.html", context)


async def favicon(request: Request) -> Response:
    return FileResponse(_webapp(request) / "templates" / "logo.svg", media_type="image/svg+xml")


async def task(request: Request) -> Response:
    name = request.path_params["name"]
    context, hosted = _task_context(request, name), _registry(request).task(name)
    context["versions"] = await hosted.versions()
    context["contributions"] = await hosted.contributions()
    context["rounds"] = await hosted.rounds(0, RECENT_ROUNDS)
    context["remaining"] = await hosted.seconds_to_finish()
    context["picture"] = _pictures(request).of(name)
    context |= await lineage(request, name)
    return render(request, "pages/task.html", context)


async def rounds(request: Request) -> Response:
    registry, name = _registry(request), request.path_params["name"]
    before = number_asked(request, "before", None)
    context = _task_context(request, name)
    page_rounds = await registry.task(name).rounds(0, ROUNDS_PER_PAGE, before)
    oldest, newest = (page_rounds[0]["round"], page_rounds[-1]["round"]) if page_rounds else (0, before or 0)
    following = newest + ROUNDS_PER_PAGE + 1
    newer = following if following <= registry.host(name).round else "newest"
    context |= {
        "rounds": page_rounds,
        "newest": before is None,
        "older": oldest if oldest > 1 else None,
        "newer": None if before is None else newer,
    }
    return render(request, "pages/rounds.html", context)


async def model(request: Request) -> Response:
    hosted, dist = _registry(request).task(request.path_params["name"]), request.app.state.settings.dist
    inspection = await asyncio.to_thread(hosted.inspection, dist)
    context = {
        "task": hosted.summary(),
        "model": inspection.manifest,
        "memory": inspection.manifest.step.memory,
        "step_flops": inspection.step_flops,
        "step_ops": inspection.step_ops,
        "wire": inspection.traffic,
        "devices": [device.name for device in DEVICES],
        "backends": inspection.backends,
        "times": {(time.device, time.backend): time for time in inspection.step_times},
        "fastest": fastest(inspection.step_times),
        "reasons": inspection.reasons(),
    }
    return render(request, "pages/model.html", context)


async def train(request: Request) -> Response:
    name = request.path_params["name"]
    context, hosted = _task_context(request, name), _registry(request).task(name)
    context["versions"] = await hosted.versions()
    context["remaining"] = await hosted.seconds_to_finish()
    context |= await asyncio.to_thread(_exact_context, request, name)
    page = render(request, WEB_SCHEMES[context["plan"].coordination.scheme].training, context)
    if (url := context["plan"].data.url) is not None:
        page.headers[POLICY] = page_policy(url.origins)
    if (permissions := WITH_DEVICE.get(context["plan"].data.brings or "")) is not None:
        page.headers[PERMISSIONS] = permissions
    return page


def render(request: Request, template: str, context: dict[str, Any], status: int = 200) -> Response:
    """Renders `template` in the reader's language, with the built scripts and styles that it needs.

    A request for the live parts of the page gets nothing else.
    """
    webapp, dist = _webapp(request), request.app.state.settings.dist
    language = negotiated(request.headers.get("accept-language", ""))
    # Pages without their own script, such as errors, use the gallery's.
    entries = (f"{SOURCES}/{name}.ts" for name in (Path(template).stem, "gallery"))
    page = _environment(webapp, language).get_template(template)
    values = {"request": request, "language": language, "reader": account_name(request), **context}
    headers = {"Content-Language": language, "Vary": "Accept-Language", POLICY: page_policy()}
    if asks_for_live_parts(request, page):
        return render_live_parts(request, page, values, headers)
    built = next(filter(None, (assets(dist, entry, language) for entry in entries)), None)
    return HTMLResponse(page.render(built=built, **values), status, headers)


def assets(dist: Path, entry: str, language: str = FALLBACK) -> dict[str, Any] | None:
    """Returns the paths below `dist` of the entry's script, its modules, and the styles of all of them.

    None when the web app, or this entry of it, was not built. English texts are part of every script.
    """
    path = dist / "manifest.json"
    if not path.is_file():
        return None
    manifest = _manifest(path, path.stat().st_mtime_ns)
    if entry not in manifest:
        return None
    translations = f"{TRANSLATIONS}/{language}.po"
    pending = [entry]
    needed: dict[str, Any] = {}
    while pending:
        name = pending.pop(0)
        if name not in needed:
            chunk = needed[name] = manifest[name]
            pending += chunk.get("imports", [])
            pending += filter(lambda late: late.startswith(translations), chunk.get("dynamicImports", []))
    styles = dict.fromkeys(style for chunk in needed.values() for style in chunk.get("css", []))
    modules = [chunk["file"] for name, chunk in needed.items() if name != entry]
    return {"script": manifest[entry]["file"], "modules": modules, "styles": list(styles)}


@lru_cache(maxsize=4)
def _manifest(path: Path, _modified: int) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return manifest


@lru_cache(maxsize=8)
def _environment(webapp: Path, language: str) -> Environment:
    templates, sentences = webapp / "templates", catalogue(webapp / "locales", language)
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_translations(sentences, newstyle=True)  # type: ignore[attr-defined]  # By i18n.
    environment.policies["ext.i18n.trimmed"] = True
    environment.filters.update(TemplateWords(language, sentences).filters())
    environment.filters["woven"] = picture
    environment.filters["partial"] = lambda scheme, name: WEB_SCHEMES[scheme].partial(templates, name)
    # The logo is inlined, so that it takes the colours of the light or dark theme.
    environment.globals["logo"] = Markup((templates / "logo.svg").read_text(encoding="utf-8"))  # noqa: S704
    return environment


def _task_context(request: Request, name: str) -> dict[str, Any]:
    hosted = _registry(request).task(name)
    detail = hosted.detail()
    parameters = detail.summary["parameters"]
    return {
        "task": detail.summary,
        "readme": Markup(detail.readme_html),  # noqa: S704  (Markdown rendered with HTML disabled)
        "licence": detail.licence,
        "trial": detail.trial,
        "plan": detail.file,
        "own_noise": own_noise(detail.file),
        "publication": publication(detail.file),
        "disclosure": hosted.disclosure(),
        "moved": round_bytes(parameters, averages_of(detail.file, parameters)),
    }


def _exact_context(request: Request, name: str) -> dict[str, Any]:
    """Returns whether the task needs the same bits of all, by which program, and what that costs a laptop."""
    registry, dist = _registry(request), request.app.state.settings.dist
    program, mode = registry.program(), exactness(registry.host(name).task.file)
    costs = exact_costs(registry.task(name).inspection(dist).step_times) if mode == "required" else []
    return {
        "exact": mode,
        "program": program.program if program else None,
        "exact_cost": next((cost for cost in costs if cost.device == "laptop"), None),
    }


def _registry(request: Request) -> TaskRegistry:
    registry: TaskRegistry = request.app.state.tasks
    return registry


def _pictures(request: Request) -> TaskPictures:
    pictures: TaskPictures = request.app.state.pictures
    return pictures


def _webapp(request: Request) -> Path:
    root: Path = request.app.state.settings.assets
    return root / "webapp"
