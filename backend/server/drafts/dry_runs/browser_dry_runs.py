"""The dry run in browsers: what they tell of the step that the server took before, and what that means."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta, Struct

from backend.server.drafts.record import BrowserBackend, BrowserDryRun

# Relative L2 distance up to which a browser's step is the server's. Of the 86 models of
# docs/reference/models.md no loss or gradient is further off than a tenth of it, on any backend.
AGREE = 1e-3
# A smaller loss is compared as if it were so large: what is nearly nothing has no digits that could agree.
_LEAST_LOSS = 1e-3
_KEPT = 40
_NAMES: dict[str, str] = {"webgpu": "WebGPU", "webgl": "WebGL", "wasm": "WebAssembly", "cpu": "JavaScript"}

Of = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
Reason = Annotated[str, Meta(min_length=1, max_length=400)]
Amount = Annotated[float, Meta(ge=0, le=1e30)]


class _Report(Struct, frozen=True, forbid_unknown_fields=True, tag_field="outcome"):
    """`of` is the fingerprint of the rehearsal whose step was taken."""

    of: Of


class Stepped(_Report, frozen=True, tag="stepped"):
    """A step was taken; `gradient_error` is relative to the native one's L2 norm."""

    backend: BrowserBackend
    loss: Annotated[float, Meta(ge=-1e30, le=1e30)]
    gradient_error: Amount
    step_ms: Amount


class BackendFailed(_Report, frozen=True, tag="failed"):
    """A backend that is there could not take it; `reason` is a sentence."""

    backend: BrowserBackend
    reason: Reason


class Absent(_Report, frozen=True, tag="absent"):
    """The browser does not have that backend."""

    backend: BrowserBackend


class DataRead(_Report, frozen=True, tag="data"):
    """The first shard was fetched and read; `problem` is a sentence where it was not what was expected."""

    examples: Annotated[int, Meta(ge=0, le=2**31)]
    problem: Reason | None = None


class NoBrowser(_Report, frozen=True, tag="no-browser"):
    """Nobody takes the step in a browser: only Python peers are known to be able to take part."""


Report = Stepped | BackendFailed | Absent | DataRead | NoBrowser


def assessed(report: Report, loss: float, agent: str, at: float) -> BrowserDryRun:
    """What a report means, where the server's own step had that `loss`."""
    match report:
        case Stepped(of, backend, theirs, gradient_error, step_ms):
            loss_error = abs(theirs - loss) / max(abs(loss), _LEAST_LOSS)
            agrees = max(loss_error, gradient_error) <= AGREE
            text = _stepped(backend, agrees, theirs, loss, gradient_error)
            verdict: Literal["agrees", "differs"] = "agrees" if agrees else "differs"
            return BrowserDryRun(of, at, agent, backend, verdict, text, loss_error, gradient_error, step_ms)
        case BackendFailed(of, backend, reason):
            return BrowserDryRun(of, at, agent, backend, "failed", _clean(reason))
        case Absent(of, backend):
            return BrowserDryRun(of, at, agent, backend, "absent", f"{agent} has no {_NAMES[backend]} here.")
        case DataRead(of, examples, None):
            text = f"The first shard was fetched and read: {examples:,} examples, as the server reads them."
            return BrowserDryRun(of, at, agent, "data", "agrees", text)
        case DataRead(of, _, problem):
            return BrowserDryRun(of, at, agent, "data", "failed", _clean(problem or ""))
        case NoBrowser(of):
            text = "No browser took the step: only Python peers are known to be able to take part."
            return BrowserDryRun(of, at, agent, "none", "absent", text)


def with_report(tried: list[BrowserDryRun], new: BrowserDryRun) -> list[BrowserDryRun]:
    """`tried` with `new` instead of what the same browser said of the same before; the newest are kept."""
    others = [one for one in tried if (one.agent, one.what) != (new.agent, new.what)]
    return [*others, new][-_KEPT:]


def summary_of(tried: list[BrowserDryRun], of: str) -> tuple[Literal["done", "todo", "failed"], str]:
    """State and sentence of the checklist's line about browsers, for the rehearsal with that fingerprint."""
    now = [one for one in tried if one.of == of]
    steps = [one for one in now if one.what in _NAMES]
    agreeing = [one for one in steps if one.verdict == "agrees"]
    for one in now:
        if one.what == "data" and one.verdict == "failed":
            return "failed", f"The data could not be read in {one.agent}: {one.text}"
    if agreeing:
        return "done", f"The server's step is also that of {_listed(agreeing)}.{_but(steps)}"
    if wrong := [one for one in steps if one.verdict == "differs"]:
        return "failed", (
            f"{_listed(wrong)} computed another step than the server. Try another browser or device, and "
            "report this with the model."
        )
    if any(one.what == "none" for one in now) or len(steps) == len(_NAMES):
        return "done", (
            "No browser has taken the step, so only Python peers (`minga peer join`) are known to be able "
            "to take part."
        )
    if tried and not now:
        return "todo", "Take the step in a browser again: something that it depends on was changed."
    return "todo", "Take the same step in your own browser."


def _stepped(backend: str, agrees: bool, theirs: float, loss: float, gradient_error: float) -> str:
    name = _NAMES[backend]
    if agrees:
        return (
            f"{name} took the server's step: its gradient is off by {_small(gradient_error)} of its length."
        )
    return (
        f"{name} took another step than the server: its loss is {theirs:.6g} where {loss:.6g} was "
        f"expected, its gradient off by {_small(gradient_error)} of its length. {AGREE:g} is allowed."
    )


def _small(value: float) -> str:
    """One digit behind all the zeros: `0.0000003`."""
    return format(Decimal(f"{value:.1g}"), "f")


def _listed(some: list[BrowserDryRun]) -> str:
    agents: dict[str, list[str]] = {}
    for one in some:
        agents.setdefault(one.agent, []).append(_NAMES[one.what])
    return "; ".join(f"{', '.join(names)} in {agent}" for agent, names in agents.items())


def _but(steps: list[BrowserDryRun]) -> str:
    wrong = [one for one in steps if one.verdict in ("differs", "failed")]
    return f" Not so: {_listed(wrong)}." if wrong else ""


def _clean(text: str) -> str:
    """On one line, without what no screen shows."""
    return "".join(letter if letter.isprintable() else " " for letter in text).strip() or "It failed."
