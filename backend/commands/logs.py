"""How the log is written: for people on a terminal, or one JSON object a line."""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.types import EventDict, Processor

from backend.settings import LogFormat, LogLevel

SECRETS = frozenset({"token", "authorization", "cookie", "password", "secret"})
_FIRST = ("task", "round", "epoch", "version", "client")


def log_to_stderr(format_: LogFormat, level: LogLevel) -> None:
    """Sends every line of this process, those of libraries too, to standard error."""
    before: list[Processor] = [
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
            *before,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    last = _for_programs() if format_ == "json" else _for_people()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=before,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("minga").setLevel(level.upper())


def without_secrets(_logger: object, _method: str, line: EventDict) -> EventDict:
    """Hides what only its owner may know, should somebody log it by mistake."""
    for key in line.keys() & SECRETS:
        line[key] = "(hidden)"
    return line


def in_order(_logger: object, _method: str, line: EventDict) -> EventDict:
    """What a line is about comes first."""
    return {key: line[key] for key in _FIRST if key in line} | dict(line)


def _for_programs() -> list[Processor]:
    return [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer()]


def _for_people() -> list[Processor]:
    short = structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False)
    plain = structlog.dev.plain_traceback
    renderer = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(), pad_event_to=24, sort_keys=False, exception_formatter=plain
    )
    return [short, renderer]
