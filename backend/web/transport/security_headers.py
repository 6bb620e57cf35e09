"""Adds headers that isolate pages from other sites and allow WASM threads."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "Content-Security-Policy"
REFERRER = "Referrer-Policy"
PERMISSIONS = "Permissions-Policy"
# A page that collects pictures may ask for the camera, one that collects recordings for the microphone; all
# others, and frames, may ask for nothing.
WITH_DEVICE = {
    "image": "camera=(self), microphone=(), geolocation=()",
    "audio": "camera=(), microphone=(self), geolocation=()",
}
# A response may have others of these.
_OWN = (POLICY, REFERRER, PERMISSIONS)
# Pages start workers and parse HTML by two policies of Trusted Types: client/workers/script-policy.ts and
# ui/lib/parse-html.ts. Workers have no document, and libraries in them start threads by plain addresses. The
# search of the documentation, which is MkDocs' own, writes markup.
_TRUSTED_TYPES = ("require-trusted-types-for 'script'", "trusted-types default minga-html")


def policy(origins: Iterable[str] = ()) -> str:
    """Returns the policy that limits a page to this server; its scripts may also fetch from `origins`."""
    return "; ".join(
        (
            "default-src 'self'",
            "script-src 'self' 'wasm-unsafe-eval'",
            "worker-src 'self'",
            " ".join(("connect-src 'self'", *origins)),
            "img-src 'self' data: blob:",
            "style-src 'self'",
            "object-src 'none'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


def page_policy(origins: Iterable[str] = ()) -> str:
    """Returns the policy of a page of the web app, which also has Trusted Types."""
    return "; ".join((policy(origins), *_TRUSTED_TYPES))


HEADERS = {
    POLICY: policy(),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    REFERRER: "no-referrer",
    PERMISSIONS: "camera=(), microphone=(), geolocation=()",
}


class SecurityHeaders:
    """Adds HEADERS to every HTTP response, but keeps the policies of a response that has some."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    if name not in _OWN or name not in headers:
                        headers[name] = value
            await send(message)

        await self._app(scope, receive, send_with_headers)
