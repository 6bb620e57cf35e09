"""The pages for people: rendered here, complete without scripts but for training itself."""

from __future__ import annotations

import asyncio
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from backend.services.catalogue import Catalogue
from backend.services.devices import DEVICES
from backend.services.inspection import fastest
from backend.web.queries import number_asked
from backend.web.words import FILTERS, kept

SOURCES = "webapp/static/src/page"
FEW_ROUNDS, PAGE_OF_ROUNDS = 3, 50


def routes() -> list[BaseRoute]:
    """Gallery, the four pages of a task, and the logo as the pages' icon."""
    return [
        Route("/", gallery, name="gallery"),
        Route("/favicon.svg", favicon, name="favicon"),
        Route("/tasks/{name}", task, name="task"),
        Route("/tasks/{name}/model", model, name="model"),
        Route("/tasks/{name}/rounds", rounds, name="rounds"),
        Route("/tasks/{name}/train", train, name="train"),
    ]


async def gallery(request: Request) -> Response:
    return render(request, "gallery.html", {"tasks": _services(request).summaries()})


async def favicon(request: Request) -> Response:
    return FileResponse(_webapp(request) / "templates" / "logo.svg", media_type="image/svg+xml")


async def task(request: Request) -> Response:
    services, name = _services(request), request.path_params["name"]
    context = _task_context(request, name)
    context["versions"] = await services.versions(name)
    context["contributions"] = await services.contributions(name)
    context["rounds"] = await services.rounds(name, 0, FEW_ROUNDS)
    return render(request, "task.html", context)


async def rounds(request: Request) -> Response:
    services, name = _services(request), request.path_params["name"]
    before = number_asked(request, "before", None)
    context = _task_context(request, name)
    shown = await services.rounds(name, 0, PAGE_OF_ROUNDS, before)
    oldest, newest = (shown[0]["round"], shown[-1]["round"]) if shown else (0, before or 0)
    following = newest + PAGE_OF_ROUNDS + 1
    newer = following if following <= services.host(name).round else "newest"
    context |= {
        "rounds": shown,
        "newest": before is None,
        "older": oldest if oldest > 1 else None,
        "newer": None if before is None else newer,
        "kept": kept(context["plan"].checkpoints),
    }
    return render(request, "rounds.html", context)


async def model(request: Request) -> Response:
    services, name = _services(request), request.path_params["name"]
    dist = request.app.state.settings.dist
    inspection = await asyncio.to_thread(services.inspection, name, dist)
    context = {
        "task": services.summary(name),
        "model": inspection.manifest,
        "memory": inspection.manifest.step.memory,
        "step_flops": inspection.step_flops,
        "step_ops": inspection.step_ops,
        "wire": inspection.traffic,
        "devices": [device.name for device in DEVICES],
        "backends": inspection.backends,
        "times": {(one.device, one.backend): one for one in inspection.step_times},
        "fastest": fastest(inspection.step_times),
        "reasons": inspection.reasons(),
    }
    return render(request, "model.html", context)


async def train(request: Request) -> Response:
    services, name = _services(request), request.path_params["name"]
    context = _task_context(request, name)
    context["versions"] = await services.versions(name)
    return render(request, "train.html", context)


def render(request: Request, template: str, context: dict[str, Any], status: int = 200) -> HTMLResponse:
    """The page of `template`, with the built scripts and styles that belong to it."""
    webapp, dist = _webapp(request), request.app.state.settings.dist
    # Pages without a script of their own, such as errors, take the gallery's.
    built = assets(dist, f"{SOURCES}/{Path(template).stem}.ts") or assets(dist, f"{SOURCES}/gallery.ts")
    text = (
        _environment(webapp / "templates")
        .get_template(template)
        .render(request=request, built=built, **context)
    )
    return HTMLResponse(text, status_code=status)


def assets(dist: Path, entry: str) -> dict[str, Any] | None:
    """Addresses below `dist` of the entry's script and of every style that it or its imports need.

    None when the web app, or this entry of it, was not built.
    """
    path = dist / "manifest.json"
    if not path.is_file():
        return None
    manifest = _manifest(path, path.stat().st_mtime_ns)
    if entry not in manifest:
        return None
    styles: dict[str, None] = {}
    waiting, seen = [entry], {entry}
    while waiting:
        chunk = manifest[waiting.pop()]
        styles.update(dict.fromkeys(chunk.get("css", [])))
        imports = [name for name in chunk.get("imports", []) if name not in seen]
        seen.update(imports)
        waiting += imports
    return {"script": manifest[entry]["file"], "styles": list(styles)}


@lru_cache(maxsize=4)
def _manifest(path: Path, _modified: int) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return manifest


@lru_cache(maxsize=4)
def _environment(templates: Path) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    # The drawing stands in the page itself, so that it takes the colours of light and dark.
    environment.globals["logo"] = Markup((templates / "logo.svg").read_text(encoding="utf-8"))  # noqa: S704
    return environment


def _task_context(request: Request, name: str) -> dict[str, Any]:
    detail = _services(request).detail(name)
    return {
        "task": detail.summary,
        "readme": Markup(detail.readme_html),  # noqa: S704  (Markdown rendered with HTML disabled)
        "licence": detail.licence,
        "labels": detail.labels,
        "try_input": detail.input,
        "plan": detail.file,
    }


def _services(request: Request) -> Catalogue:
    services: Catalogue = request.app.state.services
    return services


def _webapp(request: Request) -> Path:
    root: Path = request.app.state.settings.assets
    return root / "webapp"
