"""What happens to tasks, as lines of the log."""

from __future__ import annotations

from dataclasses import asdict

import structlog

from backend.server.observers import task_events

log = structlog.stdlib.get_logger("minga.task")

# Who takes part in a pass: a round chooses a cohort, an epoch takes all who come.
_WHO: dict[task_events.Pass, str] = {"round": "cohort", "epoch": "clients"}


class Logbook:
    """An Observer that logs: what clients do in detail, what becomes of rounds and epochs as information."""

    def notice(self, task: str, event: task_events.TaskEvent) -> None:
        """See Observer."""
        line = log.bind(task=task)
        match event:
            case task_events.ClientJoined():
                line.debug("client joined", client=event.client, kind=event.kind, backend=event.backend)
            case task_events.ClientLeft():
                line.debug("client left", client=event.client, lost=event.lost)
            case task_events.RoundOpened():
                who = {_WHO[event.word]: event.cohort}
                line.info(f"{event.word} opened", **{event.word: event.round}, version=event.version, **who)
            case task_events.UpdateAccepted():
                where = {event.word: event.round}
                line.debug("update accepted", **where, client=event.client, examples=event.examples)
            case task_events.UpdateRefused():
                line.info(
                    "update refused",
                    round=event.round,
                    client=event.client,
                    code=event.code,
                    reason=event.reason,
                )
            case task_events.SumUnmasked():
                line.info(
                    "sum unmasked",
                    round=event.round,
                    clients=event.clients,
                    dropped=event.dropped,
                    examples=event.examples,
                    seconds=round(event.seconds, 3),
                )
            case task_events.UnmaskingFailed():
                line.warning("sum not unmasked", round=event.round, reason=event.reason)
            case task_events.ClientDistrusted():
                line.warning("client distrusted", round=event.round, client=event.client, reason=event.reason)
            case task_events.PeersAveraged():
                line.info(
                    "peers averaged",
                    round=event.round,
                    peers=event.peers,
                    fraction=round(event.fraction, 4),
                    seconds=round(event.seconds, 3),
                )
            case task_events.UnitLeased():
                line.debug("unit leased", **asdict(event))
            case task_events.UnitReturned():
                line.debug("result here", **asdict(event))
            case task_events.UnitReleased():
                line.debug("unit released", **asdict(event))
            case task_events.UnitCounted():
                line.debug("result counted", **asdict(event))
            case task_events.UnitRejected():
                line.info("result rejected", **asdict(event))
            case task_events.ResultAssimilated():
                line.debug("result assimilated", **{**asdict(event), "seconds": round(event.seconds, 3)})
            case task_events.RoundEnded():
                _round_ended(line, event)
            case task_events.VersionEvaluated(found):
                line.info(
                    "version evaluated",
                    version=found.version,
                    source=found.source,
                    loss=found.loss,
                    metrics=found.metrics,
                )
            case task_events.TaskFinished():
                line.info("task finished", version=event.version, reason=event.reason)
            case task_events.StoreFailed():
                line.error("cannot record, trying again", reason=event.reason, seconds=event.seconds)
            case task_events.StoreMended():
                line.info("recording goes on")


def _round_ended(line: structlog.stdlib.BoundLogger, event: task_events.RoundEnded) -> None:
    ended, version, word = event.round, event.version, event.word
    figures = {"accepted": ended.accepted, _WHO[word]: ended.cohort, "refused": ended.refused}
    line, seconds = line.bind(**{word: ended.round}), round(ended.seconds, 3)
    if version is None:
        line.info(f"{word} abandoned", **figures, seconds=seconds, reason=ended.reason)
    else:
        line.info("version made", version=version.version, **figures, seconds=seconds)
