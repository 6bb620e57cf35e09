"""Composition root of the server: builds the ASGI application from its parts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount

from backend.protocols.token_bucket import Rate
from backend.server.accounts.accounts import access_to
from backend.server.accounts.linked_devices import LinkedDevices
from backend.server.accounts.sign_in_attempts import Attempts
from backend.server.continuation.continuations import Continuations
from backend.server.continuation.descriptions import Descriptions
from backend.server.drafts.draft_service import TASKS, DraftService
from backend.server.exports.exporter import Exporter
from backend.server.exports.integrity_checks import IntegrityChecks
from backend.server.exports.task_exports import TaskExports
from backend.server.hosting.task_deletion import Deletions
from backend.server.hosting.task_registry import TaskRegistry
from backend.server.integrity.version_measurements import VersionMeasurements
from backend.server.observers.event_log import EventLog
from backend.server.observers.observer import Observers
from backend.server.pictures.draft_pictures import DraftPictures
from backend.server.pictures.picture_decoder import PictureDecoder
from backend.server.pictures.task_pictures import TaskPictures
from backend.settings import Settings
from backend.stores.embedded import open_stores
from backend.web.api import (
    continuation,
    description,
    exports,
    pictures,
    reaggregation,
    task_management,
    tasks,
)
from backend.web.api.metrics import Metrics
from backend.web.api.static_files import PublicFiles
from backend.web.auth import accounts, credentials, devices, invitations, sign_in
from backend.web.auth.task_guard import guarded
from backend.web.drafts import copies, drafts, dry_runs, reviews
from backend.web.openapi import handlers
from backend.web.pages import draft_pages, invitation_code, owner_pages, pages
from backend.web.pages.reader_language import in_reader_language
from backend.web.requests.path_numbers import bound_numbers
from backend.web.transport import error_responses
from backend.web.transport.authorized_sockets import AuthorizedSockets
from backend.web.transport.origin_check import SameOrigin
from backend.web.transport.security_headers import SecurityHeaders


def build_app(settings: Settings) -> Starlette:
    """Builds the server as an ASGI application; its lifespan opens the stores and hosts the tasks.

    `app.state` holds `settings`, and from start-up on `stores`, `tasks` (the TaskRegistry), `access`,
    `drafts` and `first_link`: the secret of a link for the first operator, None once one exists.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        metrics = Metrics()
        stores = open_stores(settings.data_dir)
        observers = Observers([EventLog(), metrics])
        measurements = VersionMeasurements(stores.blobs, settings.data_dir / "integrity")
        registry = TaskRegistry(
            stores,
            settings.ops_file,
            observers,
            settings.limits,
            settings.hooks,
            settings.ice,
            settings.alert_destinations,
            settings.parameters,
            settings.dist,
            measurements,
        )
        exporter = Exporter(settings.data_dir / "exports", settings.limits.exports_megabytes * 10**6)
        app.state.stores, app.state.tasks, app.state.metrics = stores, registry, metrics
        access = access_to(stores.access, time.time)
        app.state.access, app.state.connections = access, AuthorizedSockets()
        linked = app.state.devices = LinkedDevices(stores.devices, time.time, time.monotonic)
        per_minute = settings.limits.sign_ins_per_minute
        app.state.attempts = Attempts(Rate(per_minute / 60, per_minute), time.monotonic)
        results = app.state.results = TaskExports(registry, stores.blobs, exporter)
        app.state.integrity = IntegrityChecks(registry, results, measurements)
        deletions = app.state.deletions = Deletions(
            settings.data_dir / TASKS, settings.data_dir / "deleted", stores, access.roles
        )
        continuations = app.state.continuations = Continuations(registry, stores.plans)
        app.state.descriptions = Descriptions(registry, stores.plans)
        decoder = PictureDecoder()
        app.state.pictures = TaskPictures(registry, stores.blobs, decoder)
        drafts = app.state.drafts = DraftService(
            settings.data_dir,
            settings.limits,
            registry,
            access.roles,
            stores.lives,
            time.time,
            metrics.count_job,
        )
        app.state.draft_pictures = DraftPictures(drafts.drafts, decoder)
        recheck = asyncio.create_task(app.state.connections.run())
        try:
            await exporter.start()
            await measurements.start()
            await stores.access.clear(time.time())
            app.state.first_link = await access.links.first()
            await linked.start()
            await deletions.finish()
            await registry.start(settings.tasks, settings.overrides, settings.data_dir / TASKS)
            await drafts.start()
            metrics.watch(lambda: registry.hosts)
            yield
        finally:
            recheck.cancel()
            await exporter.stop()
            await measurements.stop()
            await drafts.stop()
            await continuations.stop()
            await registry.stop()
            await stores.close()

    bound_numbers()
    app = Starlette(
        routes=[
            *guarded(
                [
                    *pages.routes(),
                    *invitation_code.routes(),
                    *tasks.routes(),
                    *exports.routes(),
                    *sign_in.routes(),
                    *accounts.routes(),
                    *credentials.routes(),
                    *owner_pages.routes(),
                    *draft_pages.routes(),
                    *in_reader_language(
                        [*drafts.routes(), *dry_runs.routes(), *copies.routes(), *reviews.routes()]
                    ),
                    *task_management.routes(),
                    *reaggregation.routes(),
                    *continuation.routes(),
                    *description.routes(),
                    *pictures.routes(),
                    *invitations.routes(),
                    *devices.routes(),
                    *handlers.routes(),
                ]
            ),
            # Compression shrinks TF.js and its WASM to a third; blobs are numbers and do not shrink.
            Mount("/docs", GZipMiddleware(PublicFiles(settings.site, pages=True))),
            Mount("/static/dist", GZipMiddleware(PublicFiles(settings.dist))),
        ],
        middleware=[Middleware(SecurityHeaders), Middleware(SameOrigin)],
        exception_handlers=error_responses.handlers(),
        lifespan=lifespan,
    )
    app.state.settings = settings
    return app
