"""What the server says, in sentences for the person who started the peer."""

from __future__ import annotations

from backend.peer.progress import Reporter
from backend.wire.messages import Accepted, Evaluated, Metrics, Refused, ServerFrame, Version, Welcome


def tell_news(reporter: Reporter, frame: ServerFrame) -> None:
    """Tells what the frame means for this peer, if it means anything."""
    match frame:
        case Welcome(client=client):
            reporter.tell("connected", f"Connected as {client}.", client=client)
        case Accepted(round=number, examples=examples):
            sentence = f"Round {number}: your update counts, with {examples} examples."
            reporter.tell("accepted", sentence, round=number, examples=examples)
        case Refused(round=number, code=code, reason=reason):
            sentence = f"Round {number}: your update does not count. {reason}"
            reporter.tell("refused", sentence, round=number, code=code)
        case Version(version=version, round=number, loss=loss, metrics=metrics):
            sentence = f"Version {version} is there (the cohort's loss {loss:.4f})."
            reporter.tell("version", sentence, version=version, round=number, loss=loss, metrics=metrics)
        case Evaluated():
            _tell_evaluated(reporter, frame)


def tell_partial(reporter: Reporter, number: int, steps: int, planned: int) -> None:
    """Tells that an update has fewer steps than planned, if it has."""
    if steps < planned:
        share = f"{100 * steps / planned:.0f} % of the steps ({steps} of {planned})"
        sentence = f"Round {number}: sending {share}, what was done in time."
        reporter.tell("partial", sentence, round=number, steps=steps, planned=planned)


def _tell_evaluated(reporter: Reporter, frame: Evaluated) -> None:
    where = "on held-out data" if frame.source == "server" else "on what clients hold out"
    sentence = f"Version {frame.version} {where}: loss {frame.loss:.4f}{_shown(frame.metrics)}."
    reporter.tell(
        "evaluated",
        sentence,
        version=frame.version,
        source=frame.source,
        loss=frame.loss,
        metrics=frame.metrics,
    )


def _shown(metrics: Metrics) -> str:
    return "".join(f", {name} {value:.4f}" for name, value in metrics.items())
