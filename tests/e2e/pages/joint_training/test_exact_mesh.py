"""Browsers and headless peers of the backend exact average among themselves: all hold the same bits."""

from __future__ import annotations

import signal
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.exact.engines import BROWSERS, BrowserTab
from tests.support.exact.repeated_plans import await_versions, copy_lots, make_home, start_training
from tests.support.peer.digits_mesh import write_digits
from tests.support.peer.peer_process import Peer, joined
from tests.support.tasks.pinned_task import built_program, require_exact
from tests.support.timeouts import HEAVY, LONG
from tests.support.web.server_process import Server, running

pytestmark = pytest.mark.browser

EXACT = ("--exact", "--transport", "webrtc")
ROUNDS = 3
NESTEROV = '{ name = "nesterov", learning_rate = 0.7, momentum = 0.9 }'
# What a page holds after each round, and the ways of its links, as they come about.
RECORD = """() => {
  const root = document.querySelector("[data-train]");
  window.held = {};
  window.ways = {};
  const note = () => {
    if (root.dataset.holds) window.held[root.dataset.round] = root.dataset.holds;
    for (const link of root.querySelectorAll("[data-links] [data-way]")) window.ways[link.dataset.way] = true;
  };
  new MutationObserver(note).observe(root, { attributes: true, childList: true, subtree: true });
}"""


def write_exact_mesh(
    models: Path, folder: Path, *, members: int, rounds: int, quorum: int, patience: float
) -> Path:
    """Writes digits as a mesh of that many members, with steps that every member finishes."""
    write_digits(
        models / "digits",
        folder / "digits",
        # Halves would hide a difference in the last bits.
        {"patience": patience, "precision": "float32"},
        rounds=rounds,
        min_available_clients=members,
        quorum=quorum,
        deadline=300,
    )
    file = folder / "digits" / "task.toml"
    text = file.read_text("utf-8").replace("epochs = 2", "steps = 8", 1)
    table = "[coordination.averaging]"
    file.write_text(text.replace(table, f"server_optimizer = {NESTEROV}\n\n{table}", 1), "utf-8")
    require_exact(folder / "digits", built_program(), "built/bundle")
    return folder


def open_page(stack: ExitStack, name: str, server: Server) -> tuple[BrowserTab, str]:
    """Opens a page of a new browser that takes part; returns it, and its token."""
    tab = stack.enter_context(BROWSERS[name]()).open(f"{server.url}/tasks/digits/train")
    tab.evaluate(RECORD)
    return tab, start_training(tab)


def averaged(peer: Peer) -> dict[int, str]:
    """Returns the weights that a peer reported after each round, once it has finished."""
    while not any(one["event"] == "finished" for one in peer.seen):
        peer.expect("finished", LONG)
    return {one["round"]: one["weights"] for one in peer.seen if one["event"] == "averaged"}


def held(tab: BrowserTab, newest: int) -> dict[int, str]:
    """Returns what a page held after each round, once it has the weights of round `newest`."""
    until = time.monotonic() + LONG
    while str(newest) not in (found := tab.evaluate("() => window.held")):
        assert time.monotonic() < until, found
        time.sleep(0.2)
    # It entered with the weights of round 0.
    return {int(number): weights for number, weights in found.items() if number != "0"}


@pytest.mark.timeout(HEAVY)
@pytest.mark.parametrize(
    "browsers",
    [("chromium",), pytest.param(("chromium", "firefox", "webkit"), marks=pytest.mark.long)],
    ids=len,
)
def test_pages_and_a_peer_come_to_the_same_bits_as_peers_alone(
    models: Path, tmp_path: Path, browsers: tuple[str, ...]
) -> None:
    members = len(browsers) + 1
    tasks = write_exact_mesh(
        models, tmp_path / "tasks", members=members, rounds=ROUNDS, quorum=members, patience=60.0
    )
    homes = [tmp_path / "home"]
    with running(tasks, tmp_path / "pages") as server, ExitStack() as stack:
        assert server.report["problems"] == {}
        peer = stack.enter_context(joined(homes[0], f"{server.url}/tasks/digits", *EXACT))
        pages = [open_page(stack, name, server) for name in browsers]
        recorded = await_versions(server, "digits")
        del recorded[0]
        assert averaged(peer) == recorded
        for page, _ in pages:
            assert held(page, ROUNDS) == recorded
        ways = [set(page.evaluate("() => window.ways")) for page, _ in pages]
    # WebKitGTK has no WebRTC: its links pass the server.
    assert ["webrtc" in mine for mine in ways] == [name != "webkit" for name in browsers]
    homes += [make_home(tmp_path / f"home-{number}", token) for number, (_, token) in enumerate(pages)]
    with running(tasks, copy_lots(tmp_path / "pages", tmp_path / "peers")) as server, ExitStack() as stack:
        for home in homes:
            stack.enter_context(joined(home, f"{server.url}/tasks/digits", *EXACT))
        by_peers = await_versions(server, "digits")
    assert len(recorded) == ROUNDS
    assert {number: by_peers[number] for number in recorded} == recorded


@pytest.mark.long
@pytest.mark.timeout(HEAVY)
def test_survivors_hold_the_same_bits_after_a_member_died_and_after_the_server_died(
    models: Path, tmp_path: Path
) -> None:
    tasks = write_exact_mesh(models, tmp_path / "tasks", members=4, rounds=2000, quorum=2, patience=3.0)
    with running(tasks, tmp_path / "data") as server, ExitStack() as stack:
        address = f"{server.url}/tasks/digits"
        dies, stays = (
            stack.enter_context(joined(tmp_path / f"home-{number}", address, *EXACT)) for number in range(2)
        )
        pages = [open_page(stack, name, server)[0] for name in ("chromium", "firefox")]
        dies.expect("averaging", LONG)
        dies.stop(signal.SIGKILL)
        ended = stays.expect("averaged", LONG)
        assert (ended["members"], ended["holders"]) == (4, 3)
        assert_held(pages, ended)
        server.stop(signal.SIGKILL)
        for _ in range(2):
            stays.expect("onward", LONG)
            assert_held(pages, stays.expect("averaged", LONG))


def assert_held(pages: list[BrowserTab], ended: dict[str, Any]) -> None:
    """Asserts that the pages hold the weights that a peer reported after a round."""
    number = ended["round"]
    for page in pages:
        assert held(page, number)[number] == ended["weights"], number
