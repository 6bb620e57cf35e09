"""Members of a real mesh by the engine that trains in them: peers, and pages of several browsers."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from backend.wire.client_id import client_id
from benchmarks.btard.processes.findings import Finding
from tests.support.exact.engines import BROWSERS, Browser, BrowserTab
from tests.support.exact.repeated_plans import start_training
from tests.support.peer.peer_process import Peer, joined
from tests.support.timeouts import LONG

# Emulated graphics cards take a minute and more for a round on a busy machine.
LONGEST = 2 * LONG
# What a page holds after each round, and what it found of other members' work, as it comes about.
_RECORD = """() => {
  const root = document.querySelector("[data-train]");
  window.held = {};
  window.findings = {};
  const note = () => {
    const { holds, round, findings } = root.dataset;
    // It enters with the weights of round 0.
    if (holds && round !== "0") window.held[round] = holds;
    for (const one of JSON.parse(findings || "[]")) window.findings[`${one.target} ${one.round}`] = one;
  };
  new MutationObserver(note).observe(root, { attributes: true });
}"""
# Resolves when the page says that the training is over.
_FINISHED = """() => new Promise((done) => {
  const line = document.querySelector("[data-status-line]");
  const look = () => line.innerText === "The model is trained" && done();
  new MutationObserver(look).observe(line, { childList: true, characterData: true, subtree: true });
  look();
})"""


class Member(Protocol):
    """One member; `name` is that of its engine."""

    @property
    def name(self) -> str: ...

    @property
    def client(self) -> str: ...

    def finish(self) -> None:
        """Waits for the end of the training."""

    def held(self) -> dict[int, str]:
        """Returns the SHA-256 of its weights after each round."""

    def findings(self) -> list[Finding]:
        """Returns what it found so far."""


@dataclass
class PeerMember:
    """`minga peer join`; its reports are taken by `until`."""

    name: str
    peer: Peer
    _client: str = field(init=False)

    def __post_init__(self) -> None:
        self._client = str(self.peer.expect("connected", LONG)["client"])

    @property
    def client(self) -> str:
        return self._client

    def until(self, event: str) -> dict[str, Any]:
        """Returns the next report of an event."""
        return self.peer.expect(event, LONGEST)

    def finish(self) -> None:
        self.until("finished")

    def held(self) -> dict[int, str]:
        return {one["round"]: one["weights"] for one in self._told("averaged")}

    def findings(self) -> list[Finding]:
        return [
            Finding(one["target"], one["work"], one["found"], one["distance"])
            for one in self._told("checked")
        ]

    def banned(self) -> list[str]:
        """Returns the clients that it reported as banned."""
        return [one["client"] for one in self._told("banned")]

    def removed(self) -> list[str]:
        """Returns the clients that it reported as removed from a round, one for each time."""
        return [one["client"] for one in self._told("removed")]

    def _told(self, event: str) -> list[dict[str, Any]]:
        return [one for one in self.peer.seen if one["event"] == event]


@dataclass(frozen=True)
class PageMember:
    """A page that trains."""

    name: str
    tab: BrowserTab
    client: str

    def finish(self) -> None:
        self.tab.evaluate(_FINISHED, None, LONGEST)

    def held(self) -> dict[int, str]:
        found: dict[str, str] = self.tab.evaluate("() => window.held")
        return {int(number): weights for number, weights in found.items()}

    def findings(self) -> list[Finding]:
        found: list[dict[str, Any]] = self.tab.evaluate("() => Object.values(window.findings)")
        return [Finding(one["target"], one["round"], one["found"], one["distance"]) for one in found]

    def hint(self) -> str:
        """Returns what the page says below its status."""
        said: str = self.tab.evaluate("() => document.querySelector('[data-status-hint]').innerText")
        return said


class MemberStarter:
    """Starts members at a task's `address`; they end with `stack`, and peers have their homes in `folder`.

    A browser is started once, and has a context of its own for each page.
    """

    def __init__(self, stack: ExitStack, address: str, folder: Path) -> None:
        self._stack, self._address, self._folder = stack, address, folder
        self._browsers: dict[str, Browser] = {}
        self._peers = 0

    def page(self, name: str, browser: str, backend: str | None = None) -> PageMember:
        """Opens a page and starts its training, on a backend if given."""
        if browser not in self._browsers:
            self._browsers[browser] = self._stack.enter_context(BROWSERS[browser]())
        query = f"?backend={backend}" if backend else ""
        tab = self._browsers[browser].open(f"{self._address}/train{query}")
        tab.evaluate(_RECORD)
        return PageMember(name, tab, client_id(start_training(tab)))

    def peer(self, name: str, *flags: str, liar: str | None = None) -> PeerMember:
        """Starts a peer."""
        self._peers += 1
        home = self._folder / f"home {self._peers}"
        words = (self._address, *flags, "--transport", "webrtc")
        return PeerMember(name, self._stack.enter_context(joined(home, *words, liar=liar)))
