"""Reports the server's messages as sentences for the person who started the peer."""

from __future__ import annotations

import math
from collections.abc import Sequence

from backend.formats.manifest import MetricSpec
from backend.numerics.metrics import metric_values
from backend.peer.session.progress import Reporter
from backend.wire.mesh_fields import Way
from backend.wire.mesh_messages import Entered, ServerToPeer
from backend.wire.messages import (
    Abandoned,
    Accepted,
    Evaluated,
    Evaluation,
    Metrics,
    Refused,
    ServerFrame,
    Version,
    Welcome,
)


def tell_news(reporter: Reporter, frame: ServerFrame, masked: int) -> None:
    """Reports what the frame means for this peer.

    `masked` is the number of clients among which the peer's update is masked, 0 if it is not.
    """
    match frame:
        case Welcome(client=client, probation=probation):
            reporter.tell("connected", f"Connected as {client}.", client=client)
            if probation:
                rounds = f"{probation} rounds" if probation > 1 else "one more round"
                sentence = f"This task checks the updates of newcomers: yours count after {rounds}."
                reporter.tell("probation", sentence, rounds=probation)
        case Accepted(round=number, counted=False, reason=""):
            sentence = (
                f"Round {number}: your update was checked. It does not count: this task checks the first "
                "updates of newcomers, whom it does not know."
            )
            reporter.tell("checked", sentence, round=number)
        case Accepted(round=number, counted=False, reason=reason):
            reporter.tell("uncounted", f"Round {number}: {reason}", round=number)
        case Accepted(round=number) if masked:
            sentence = f"Round {number}: your update counts, masked among {masked} clients."
            reporter.tell("accepted", sentence, round=number, examples=0, masked=masked)
        case Accepted(round=number, examples=examples):
            sentence = f"Round {number}: your update counts, with {examples} examples."
            reporter.tell("accepted", sentence, round=number, examples=examples)
        case Refused(round=number, code=code, reason=reason):
            sentence = f"Round {number}: your update does not count. {reason}"
            reporter.tell("refused", sentence, round=number, code=code)
        case Version():
            _tell_version(reporter, frame)
        case Evaluated():
            _tell_evaluated(reporter, frame)


def tell_mesh_news(reporter: Reporter, frame: ServerToPeer) -> None:
    """Reports a message of a mesh's server, if it concerns a person."""
    match frame:
        case Entered(client=client):
            reporter.tell("connected", f"Connected as {client}.", client=client)
        case Version():
            _tell_version(reporter, frame)
        case Evaluated():
            _tell_evaluated(reporter, frame)
        case Abandoned(round=number, reason=reason):
            reporter.tell("abandoned", f"Round {number} has no result. {reason}", round=number)


def tell_peers_evaluation(
    reporter: Reporter, client: str, evaluation: Evaluation, specs: Sequence[MetricSpec]
) -> None:
    """Reports the evaluation of the peer `client` while the server is away; ignores an invalid one."""
    counted = evaluation.examples and len(evaluation.sums) == sum(spec.rows for spec in specs)
    if not counted or not math.isfinite(evaluation.loss):
        return
    metrics = metric_values(specs, [evaluation.sums])
    sentence = (
        f"Round {evaluation.round} on {evaluation.examples} examples that {client} holds out: "
        f"loss {evaluation.loss:.4f}{_metrics_text(metrics)}."
    )
    reporter.tell(
        "evaluated",
        sentence,
        round=evaluation.round,
        source="peer",
        client=client,
        loss=evaluation.loss,
        metrics=metrics,
    )


class LinkNews:
    """Reports links to other peers. A link that is heard again after a silence is not reported again."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self._ways: dict[str, Way] = {}

    def up(self, client: str, way: Way) -> None:
        """Reports that a link to `client` opened or changed its `way`."""
        if self._ways.get(client) != way:
            route = "through the server, sealed" if way == "relay" else f"by {way}"
            self._reporter.tell("linked", f"Linked with {client} {route}.", client=client, way=way)
        self._ways[client] = way

    def down(self, client: str, reason: str) -> None:
        """Reports that the last link to `client` is closed; `reason` ends a sentence."""
        self._ways.pop(client, None)
        self._reporter.tell("unlinked", f"The link to {client} is gone: {reason}.", client=client)


def tell_partial(reporter: Reporter, number: int, steps: int, planned: int) -> None:
    """Reports an update with fewer steps than planned."""
    if steps < planned:
        share = f"{100 * steps / planned:.0f} % of the steps ({steps} of {planned})"
        sentence = f"Round {number}: sending {share}, the part finished in time."
        reporter.tell("partial", sentence, round=number, steps=steps, planned=planned)


def _tell_version(reporter: Reporter, frame: Version) -> None:
    loss = f" (the cohort's loss {frame.loss:.4f})" if frame.metrics or frame.loss else ""
    reporter.tell(
        "version",
        f"Version {frame.version} is there{loss}.",
        version=frame.version,
        round=frame.round,
        loss=frame.loss,
        metrics=frame.metrics,
    )


def _tell_evaluated(reporter: Reporter, frame: Evaluated) -> None:
    where = "on held-out data" if frame.source == "server" else "on what clients hold out"
    sentence = f"Version {frame.version} {where}: loss {frame.loss:.4f}{_metrics_text(frame.metrics)}."
    reporter.tell(
        "evaluated",
        sentence,
        version=frame.version,
        source=frame.source,
        loss=frame.loss,
        metrics=frame.metrics,
    )


def _metrics_text(metrics: Metrics) -> str:
    return "".join(f", {name} {value:.4f}" for name, value in metrics.items())
