"""Logs the events of tasks."""

from __future__ import annotations

from dataclasses import asdict

import structlog

from backend.server.observers import task_events

log = structlog.stdlib.get_logger("minga.task")

# The log's key for the participants of a pass: a round selects a cohort, an epoch accepts every client.
_PARTICIPANTS_KEY: dict[task_events.Pass, str] = {"round": "cohort", "epoch": "clients"}


class EventLog:
    """An Observer that logs events: of clients at level debug, of rounds and epochs at level info."""

    def notice(self, task: str, event: task_events.TaskEvent) -> None:
        """See Observer."""
        line = log.bind(task=task)
        match event:
            case task_events.ClientJoined():
                line.debug("client joined", client=event.client, kind=event.kind, backend=event.backend)
            case task_events.ClientLeft():
                line.debug("client left", client=event.client, lost=event.lost)
            case task_events.RoundOpened():
                participants = {_PARTICIPANTS_KEY[event.word]: event.cohort}
                number = {event.word: event.round}
                line.info(f"{event.word} opened", **number, version=event.version, **participants)
            case task_events.UpdateAccepted():
                number = {event.word: event.round}
                line.debug("update accepted", **number, client=event.client, examples=event.examples)
            case task_events.UpdateChecked():
                line.debug("newcomer's update checked", round=event.round, client=event.client)
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
            case task_events.GroupLost():
                line.warning("masked group lost", **asdict(event))
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
            case task_events.ResultsTakenOut():
                line.warning("a client was refuted: its results are out of the model", **asdict(event))
            case task_events.EpochRestarted():
                line.warning("no unit of the epoch had a result; it begins again", **asdict(event))
            case task_events.RoundEnded():
                _round_ended(line, event)
            case task_events.VersionEvaluated(evaluation):
                line.info(
                    "version evaluated",
                    version=evaluation.version,
                    source=evaluation.source,
                    loss=evaluation.loss,
                    metrics=evaluation.metrics,
                )
            case task_events.VersionChecked(check):
                facts = {"version": check.version, "outcome": check.outcome, "score": check.score}
                line.info("version checked", **facts, accepted=check.accepted is not None)
            case task_events.TaskFinished():
                line.info("task finished", version=event.version, reason=event.reason)
            case task_events.StoreFailed():
                line.error("cannot record, trying again", reason=event.reason, seconds=event.seconds)
            case task_events.StoreMended():
                line.info("recording continues")


def _round_ended(line: structlog.stdlib.BoundLogger, event: task_events.RoundEnded) -> None:
    ended, version, word = event.round, event.version, event.word
    counts = {"accepted": ended.accepted, _PARTICIPANTS_KEY[word]: ended.cohort, "refused": ended.refused}
    line, seconds = line.bind(**{word: ended.round}), round(ended.seconds, 3)
    if version is None:
        line.info(f"{word} abandoned", **counts, seconds=seconds, reason=ended.reason)
    else:
        line.info("version made", version=version.version, **counts, seconds=seconds)
