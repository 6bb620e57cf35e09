"""Configures the log: text for people on a terminal, or one JSON object per line."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog
from structlog.types import EventDict, Processor

from backend.settings import LogFormat, LogLevel

SECRETS = frozenset({"token", "authorization", "cookie", "password", "secret"})
_FIRST = ("task", "round", "epoch", "version", "client")


def log_to_stderr(format_: LogFormat, level: LogLevel) -> None:
    """Sends all log lines of this process, including those of libraries, to standard error."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        without_secrets,
        in_order,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    renderers = _for_programs() if format_ == "json" else _for_people()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("minga").setLevel(level.upper())


def without_secrets(_logger: object, _method: str, line: EventDict) -> EventDict:
    """Hides the values of secret keys that were logged by mistake."""
    for key in line.keys() & SECRETS:
        line[key] = "(hidden)"
    return line


def rounded(_logger: object, _method: str, line: EventDict) -> EventDict:
    """Rounds numbers to four digits, which is what people read of them."""
    return {key: _rounded(value) for key, value in line.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return float(f"{value:.4g}") if isinstance(value, float) else value


def in_order(_logger: object, _method: str, line: EventDict) -> EventDict:
    """Puts the keys that identify the subject of a line first."""
    return {key: line[key] for key in _FIRST if key in line} | dict(line)


def _for_programs() -> list[Processor]:
    return [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer()]


def _for_people() -> list[Processor]:
    short = structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False)
    plain = structlog.dev.plain_traceback
    renderer = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(), pad_event_to=24, sort_keys=False, exception_formatter=plain
    )
    return [short, rounded, renderer]
