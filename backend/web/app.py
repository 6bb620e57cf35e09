"""Composition root of the server: which part gets which."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount

from backend.services.catalogue import Catalogue
from backend.services.logbook import Logbook
from backend.services.observer import Observers
from backend.settings import Settings
from backend.stores.embedded import open_stores
from backend.web import api, failures, pages
from backend.web.metrics import Metrics
from backend.web.security import SecurityHeaders
from backend.web.static import BuiltFiles


def build_app(settings: Settings) -> Starlette:
    """The whole server as an ASGI application; its lifespan opens the stores and hosts the tasks.

    `app.state` holds `settings`, and from start-up on `stores` and `services` (the Catalogue).
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        figures = Metrics()
        stores = open_stores(settings.data_dir)
        observers = Observers([Logbook(), figures])
        catalogue = Catalogue(stores, settings.ops_file, observers, settings.limits, settings.hooks)
        app.state.stores, app.state.services, app.state.metrics = stores, catalogue, figures
        try:
            await catalogue.start(settings.tasks, settings.overrides)
            figures.watch(lambda: catalogue.hosts)
            yield
        finally:
            await catalogue.stop()
            await stores.close()

    app = Starlette(
        routes=[
            *pages.routes(),
            *api.routes(),
            # TF.js and its WASM shrink to a third; blobs are numbers and do not shrink.
            Mount("/static/dist", GZipMiddleware(BuiltFiles(directory=settings.dist, check_dir=False))),
        ],
        middleware=[Middleware(SecurityHeaders)],
        exception_handlers=failures.handlers(),
        lifespan=lifespan,
    )
    app.state.settings = settings
    return app
