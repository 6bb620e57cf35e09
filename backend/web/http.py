"""uvicorn's HTTP connections, able to send files."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from backend.web.files import with_files


class Http(HttpToolsProtocol):
    """One connection that speaks HTTP until it becomes a socket."""

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        served: Any = with_files(app, cycle)
        super()._start_asgi_task(cycle, served)
