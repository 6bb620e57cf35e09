"""A page in Chromium that changes a bit of its training is named by a replay in Node.js, with step and op."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.peer.replay.trace_file import from_answer, write_trace
from backend.wire.unit_messages import Unit
from benchmarks.support.exact_models import prepare
from tests.integration.peer.replay.replayed_units import STEPS, Answer, blob, deliver, report, work_of
from tests.support.browser.chromium import Chromium, Tab, chromium
from tests.support.browser.static_site import serve
from tests.support.keras.reference_cache import build_harness
from tests.support.timeouts import LONG
from tests.support.web.server_process import Server

pytestmark = pytest.mark.browser


class Site:
    """Pages of the harness on a site with the files of `digits`."""

    def __init__(self, browser: Chromium, folder: Path, origin: str, server: Server) -> None:
        self._browser = browser
        self._folder = folder
        self._origin = origin
        self._server = server

    def train(self, unit: Unit, trace: Path | None, lie: tuple[int, str | None] | None) -> Answer:
        """Trains a unit in a new page, which changes a bit if it is to `lie`; writes its trace."""
        tab = self._browser.open(f"{self._origin}/harness/index.html")
        try:
            return self._train(tab, unit, trace, lie)
        finally:
            tab.close()

    def _train(self, tab: Tab, unit: Unit, trace: Path | None, lie: tuple[int, str | None] | None) -> Answer:
        work = work_of(self._server, unit.unit)
        for address in (work.weights, work.shard):
            (self._folder / address).write_bytes(blob(self._server, address))
        setup = {"backend": "exact", "avoid": [], "sliced": False}
        tab.evaluate("() => window.lie()")
        self._tell(tab, type="load", origin=self._origin, bundle=work.bundle, setup=setup)
        if lie is not None:
            tab.evaluate("([step, kernel]) => window.tamper(step, kernel)", list(lie))
        steps = list(range(1, STEPS + 1)) if trace else []
        answer = self._tell(
            tab,
            type="train",
            weights=work.weights,
            plan=work.plan(STEPS),
            trace={"states": steps, "ops": steps, "inputs": None},
        )
        answer["update"] = np.array(answer["update"], "<f4").tobytes()
        if trace:
            write_trace(trace, from_answer(work, answer))
        return {**answer, "update": np.frombuffer(answer["update"], "<f4")}

    def _tell(self, tab: Tab, **message: Any) -> Answer:
        said: Answer = tab.evaluate("message => window.tell(message)", {**message, "id": 1}, LONG)[-1]
        assert said["type"] != "failed", said
        return said


@pytest.fixture(scope="module")
def site(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site") / "digits"
    prepare(folder, "digits")
    with (
        serve({"/harness/": build_harness(), "/blobs/": folder}) as origin,
        chromium() as browser,
    ):
        yield Site(browser, folder, origin, server)


@pytest.mark.parametrize(
    ("kernel", "step", "parts", "tensor", "op", "reason"),
    [
        ("_FusedMatMul", 217, (208, 224), "train/digit_1/BiasAdd/_FusedMatMul", "_FusedMatMul", "op"),
        pytest.param(
            *(None, 1, (0, 16), "apply/new_trainable", "_MingaElementwise", "state"), marks=pytest.mark.long
        ),
    ],
)
def test_the_step_and_the_op_at_which_a_page_lied_are_named(
    kernel: str | None,
    step: int,
    parts: tuple[int, int],
    tensor: str,
    op: str,
    reason: str,
    server: Server,
    site: Site,
    tmp_path: Path,
) -> None:
    file = tmp_path / "liar.trace"
    client, unit = deliver(server, lambda unit: site.train(unit, file, (step, kernel)))
    found = report(server, unit, "--against", file, code=3)
    assert [(row["client"], row["equal"], row["verdict"]) for row in found["results"]] == [
        (client, False, "valid")
    ]
    # Without the liar's trace its checkpoints tell about where.
    assert found["results"][0]["parts"] == {"after": parts[0], "by": parts[1]}
    against = found["against"]
    assert against.pop("questions") <= 9
    assert against == {
        "step": step,
        "tensor": tensor,
        "op": op,
        "wrong": ["the other trace"],
        "reason": reason,
        "clients": [client],
    }


def test_an_honest_page_has_the_trace_of_the_replay(server: Server, site: Site, tmp_path: Path) -> None:
    client, unit = deliver(server, lambda unit: site.train(unit, tmp_path / "page", None))
    found = report(server, unit, "--against", tmp_path / "page", "--save", tmp_path / "own")
    assert found["against"] is None
    assert [(row["client"], row["equal"]) for row in found["results"]] == [(client, True)]
    assert (tmp_path / "own").read_bytes() == (tmp_path / "page").read_bytes()
