"""Assesses browsers' reports on the training step that the server took before as its own dry run."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta, Struct

from backend.server.drafts.record import BrowserBackend, BrowserDryRun
from backend.translation import gettext

# Relative distances up to which a browser's step agrees with the server's. For the models of
# docs/reference/models.md no loss or gradient is further off than 1e-4, on any backend. But a maximum of two
# values that differ by rounding may send its gradient elsewhere: one of them was seen to change it by 0.0014.
AGREED_LOSS, AGREED_GRADIENT = 1e-3, 1e-2
# Smaller losses are compared as if they had this value: they are too close to zero for a relative error.
_MIN_LOSS = 1e-3
_MAX_REPORTS = 40
_NAMES: dict[str, str] = {"webgpu": "WebGPU", "webgl": "WebGL", "wasm": "WebAssembly", "cpu": "JavaScript"}

Of = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
Reason = Annotated[str, Meta(min_length=1, max_length=400)]
Amount = Annotated[float, Meta(ge=0, le=1e30)]


class _Report(Struct, frozen=True, forbid_unknown_fields=True, tag_field="outcome"):
    """A browser's report; `of` is the fingerprint of the server's dry run whose step was taken."""

    of: Of


class Stepped(_Report, frozen=True, tag="stepped"):
    """The browser took the step; `gradient_error` is relative to the L2 norm of the native gradient."""

    backend: BrowserBackend
    loss: Annotated[float, Meta(ge=-1e30, le=1e30)]
    gradient_error: Amount
    step_ms: Amount


class BackendFailed(_Report, frozen=True, tag="failed"):
    """An available backend could not take the step; `reason` is a sentence."""

    backend: BrowserBackend
    reason: Reason


class Absent(_Report, frozen=True, tag="absent"):
    """The browser does not have that backend."""

    backend: BrowserBackend


class DataRead(_Report, frozen=True, tag="data"):
    """The browser fetched and read the first shard; `problem` is a sentence if it was not as expected."""

    examples: Annotated[int, Meta(ge=0, le=2**31)]
    problem: Reason | None = None


class NoBrowser(_Report, frozen=True, tag="no-browser"):
    """The owner skips the step in a browser: only Python peers are known to be able to take part."""


Report = Stepped | BackendFailed | Absent | DataRead | NoBrowser


def assessed(report: Report, loss: float, agent: str, at: float) -> BrowserDryRun:
    """Returns the result of a report, given the `loss` of the server's own step."""
    match report:
        case Stepped(of, backend, browser_loss, gradient_error, step_ms):
            loss_error = abs(browser_loss - loss) / max(abs(loss), _MIN_LOSS)
            agrees = loss_error <= AGREED_LOSS and gradient_error <= AGREED_GRADIENT
            text = _stepped(backend, agrees, browser_loss, loss, gradient_error)
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
    """Returns the newest of `tried` with `new`, which replaces the same browser's report of the same."""
    others = [run for run in tried if (run.agent, run.what) != (new.agent, new.what)]
    return [*others, new][-_MAX_REPORTS:]


def summary_of(tried: list[BrowserDryRun], of: str) -> tuple[Literal["done", "todo", "failed"], str]:
    """Returns the checklist's state and sentence on browsers for the dry run with fingerprint `of`."""
    current = [run for run in tried if run.of == of]
    steps = [run for run in current if run.what in _NAMES]
    agreeing = [run for run in steps if run.verdict == "agrees"]
    for run in current:
        if run.what == "data" and run.verdict == "failed":
            sentence = gettext("The data could not be read in %(browser)s: %(problem)s")
            return "failed", sentence % {"browser": run.agent, "problem": run.text}
    if agreeing:
        agreed = gettext("The server's step is also that of %(browsers)s.") % {"browsers": _listed(agreeing)}
        return "done", f"{agreed}{_but(steps)}"
    if wrong := [run for run in steps if run.verdict == "differs"]:
        return "failed", gettext(
            "%(browsers)s computed a different step than the server. Try another browser or device, and "
            "report this with the model."
        ) % {"browsers": _listed(wrong)}
    if any(run.what == "none" for run in current) or len(steps) == len(_NAMES):
        return "done", gettext(
            "No browser has taken the step, so only Python peers (`minga peer join`) are known to be able to "
            "take part."
        )
    if tried and not current:
        return "todo", gettext("Take the step in a browser again: something it depends on has changed.")
    return "todo", gettext("Take the same step in your own browser.")


def _stepped(backend: str, agrees: bool, browser_loss: float, loss: float, gradient_error: float) -> str:
    name = _NAMES[backend]
    if agrees:
        return (
            f"{name} took the server's step: its gradient is off by {_small(gradient_error)} of its length."
        )
    return (
        f"{name} took a different step than the server: its loss is {browser_loss:.6g} where {loss:.6g} was "
        f"expected, its gradient off by {_small(gradient_error)} of its length. The loss may be off by "
        f"{AGREED_LOSS:g} of its value, the gradient by {AGREED_GRADIENT:g}."
    )


def _small(value: float) -> str:
    """One digit behind all the zeros: `0.0000003`."""
    return format(Decimal(f"{value:.1g}"), "f")


def _listed(some: list[BrowserDryRun]) -> str:
    agents: dict[str, list[str]] = {}
    for run in some:
        agents.setdefault(run.agent, []).append(_NAMES[run.what])
    sentence = gettext("%(backends)s in %(browser)s")
    return "; ".join(
        sentence % {"backends": ", ".join(names), "browser": agent} for agent, names in agents.items()
    )


def _but(steps: list[BrowserDryRun]) -> str:
    wrong = [run for run in steps if run.verdict in ("differs", "failed")]
    sentence = gettext("Not so: %(browsers)s.")
    return f" {sentence % {'browsers': _listed(wrong)}}" if wrong else ""


def _clean(text: str) -> str:
    """On one line, without what no screen shows."""
    return "".join(letter if letter.isprintable() else " " for letter in text).strip() or "It failed."
