"""What browsers tell of a dry run, and what it means for a launch."""

from __future__ import annotations

import msgspec
import pytest

from backend.server.drafts.dry_runs.browser_dry_runs import (
    Absent,
    BackendFailed,
    DataRead,
    NoBrowser,
    Report,
    Stepped,
    assessed,
    summary_of,
    with_report,
)
from backend.server.drafts.record import BrowserDryRun

OF, BEFORE = "a" * 32, "b" * 32
CHROME = "Chrome on Linux"


def tried(*reports: Report, agent: str = CHROME) -> list[BrowserDryRun]:
    found: list[BrowserDryRun] = []
    for report in reports:
        found = with_report(found, assessed(report, 2.3, agent, 1.0))
    return found


def stepped(loss: float = 2.3, error: float = 1e-7, of: str = OF) -> Stepped:
    return Stepped(of, "wasm", loss, error, 4.0)


@pytest.mark.parametrize(
    ("loss", "error", "verdict"),
    [
        (2.3, 1e-7, "agrees"),
        (2.302, 9e-4, "agrees"),
        # A maximum that rounding decides gives its gradient to another value.
        (2.3, 1.4e-3, "agrees"),
        (2.3, 2e-2, "differs"),
        (2.31, 1e-7, "differs"),
        (-2.3, 1e-7, "differs"),
    ],
)
def test_a_step_agrees_where_loss_and_gradient_do(loss: float, error: float, verdict: str) -> None:
    assert assessed(stepped(loss, error), 2.3, CHROME, 1.0).verdict == verdict


def test_how_far_a_gradient_is_off_is_said_without_exponents() -> None:
    assert "off by 0.0000003 of its length" in assessed(stepped(error=3.1e-7), 2.3, CHROME, 1.0).text
    assert "off by 0 of its length" in assessed(stepped(error=0.0), 2.3, CHROME, 1.0).text
    assert "off by 400000 of its length" in assessed(stepped(error=4.2e5), 2.3, CHROME, 1.0).text


def test_a_loss_of_nearly_nothing_has_no_digits_to_agree_in() -> None:
    assert assessed(stepped(3e-7), 1e-7, CHROME, 1.0).verdict == "agrees"
    assert assessed(stepped(3e-2), 1e-7, CHROME, 1.0).verdict == "differs"


def test_one_backend_that_agrees_is_enough_and_the_others_are_told() -> None:
    state, text = summary_of(tried(BackendFailed(OF, "webgl", "It was lost."), stepped()), OF)
    assert state == "done"
    assert text == (
        "The server's step is also that of WebAssembly in Chrome on Linux. Not so: WebGL in Chrome on Linux."
    )


def test_a_wrong_step_alone_keeps_from_a_launch() -> None:
    state, text = summary_of(tried(NoBrowser(OF), stepped(error=0.5)), OF)
    assert (state, text[:37]) == ("failed", "WebAssembly in Chrome on Linux comput")
    assert summary_of(tried(stepped(error=0.5), stepped()), OF)[0] == "done"


def test_where_no_browser_can_the_launch_is_for_peers() -> None:
    absent = [Absent(OF, backend) for backend in ("webgpu", "webgl", "wasm")]
    assert summary_of(tried(*absent), OF)[0] == "todo"
    state, text = summary_of(tried(*absent, BackendFailed(OF, "cpu", "It took too long.")), OF)
    assert (state, "only Python peers" in text) == ("done", True)
    assert summary_of(tried(NoBrowser(OF)), OF) == (state, text)


def test_data_that_a_browser_cannot_read_keep_from_a_launch() -> None:
    state, text = summary_of(tried(stepped(), DataRead(OF, 0, "A class is 12.")), OF)
    assert (state, text) == ("failed", "The data could not be read in Chrome on Linux: A class is 12.")
    assert summary_of(tried(stepped(), DataRead(OF, 64)), OF)[0] == "done"


def test_what_was_tried_before_a_change_does_not_count() -> None:
    state, text = summary_of(tried(stepped(of=BEFORE)), OF)
    assert (state, "has changed" in text) == ("todo", True)
    assert summary_of([], OF) == ("todo", "Take the same step in your own browser.")


def test_each_browser_has_one_line_for_each_backend_and_old_ones_go() -> None:
    kept = tried(*[stepped(error=0.1 * n) for n in range(5)])
    assert [one.gradient_error for one in kept] == [0.4]
    for number in range(100):
        kept = with_report(kept, assessed(stepped(), 2.3, f"Chrome {number}", 1.0))
    assert (len(kept), kept[-1].agent) == (40, "Chrome 99")


STEPPED = {"outcome": "stepped", "of": OF, "backend": "wasm", "loss": 1, "gradient_error": 0, "step_ms": 1}


@pytest.mark.parametrize(
    "body",
    [
        STEPPED | {"loss": None},
        STEPPED | {"loss": 1e99},
        STEPPED | {"backend": "gpu"},
        STEPPED | {"of": "../etc"},
        {"outcome": "failed", "of": OF, "backend": "cpu", "reason": ""},
        {"outcome": "no-browser", "of": OF, "verdict": "agrees"},
        {"outcome": "agrees", "of": OF},
    ],
)
def test_a_report_of_other_types_is_refused(body: dict[str, object]) -> None:
    assert msgspec.convert(STEPPED, type=Report)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(body, type=Report)


def test_what_a_page_says_stays_on_one_line() -> None:
    report = BackendFailed(OF, "cpu", "It failed\n\x1b[31mbadly\x00.")
    assert assessed(report, 1.0, CHROME, 1.0).text == "It failed  [31mbadly ."
