"""Explains the findings about a machine's network in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Address = tuple[str, int]


@dataclass(frozen=True)
class IceFinding:
    """The result for one STUN or TURN server: an address, or why there is none (the end of a sentence)."""

    url: str
    address: Address | None
    problem: str = ""

    @property
    def is_turn(self) -> bool:
        """Whether it is a TURN server, which relays bytes."""
        return self.url.startswith("turn")


@dataclass(frozen=True)
class NetworkFindings:
    """The results of all probes.

    `local_addresses` are this machine's, `mapped` those of one socket as several STUN servers see it.
    `listening` is None where no listening address was given, empty where listening worked, or else the
    problem.
    """

    server_seconds: float
    local_addresses: Sequence[str]
    ice: Sequence[IceFinding]
    mapped: Sequence[Address]
    listening: str | None
    address: str | None


@dataclass(frozen=True)
class Sentence:
    """One conclusion; `is_good` is None if it is neither good nor bad."""

    about: Literal["server", "listen", "stun", "turn", "webrtc", "relay"]
    is_good: bool | None
    text: str


def sentences(findings: NetworkFindings) -> list[Sentence]:
    """Returns the conclusions, in the order in which peers try ways to link."""
    milliseconds = round(1000 * findings.server_seconds)
    server = Sentence(
        "server", True, f"The server accepts peers of the mesh; it answers in {milliseconds} ms."
    )
    servers = [_ice_sentence(finding) for finding in findings.ice]
    relay = "If no other way works, sealed bytes go through the task's server, which needs no setup."
    return [
        server,
        _listening_sentence(findings),
        *servers,
        _webrtc_sentence(findings),
        Sentence("relay", True, relay),
    ]


def _listening_sentence(findings: NetworkFindings) -> Sentence:
    if findings.listening is None:
        return Sentence(
            "listen",
            None,
            "Other Python peers cannot connect to this one, only this one to them. If they can reach this "
            "machine, try --listen HOST:PORT, and --address if it has a different address for them.",
        )
    if findings.listening:
        return Sentence(
            "listen",
            False,
            f"At {findings.address} this machine does not reach itself: {findings.listening}. Forward the "
            "port to it, let it through the firewall, or give the address for others with --address.",
        )
    return Sentence(
        "listen",
        True,
        f"This machine reaches itself at {findings.address}. Only other machines can tell whether they do.",
    )


def _ice_sentence(finding: IceFinding) -> Sentence:
    about: Literal["stun", "turn"] = "turn" if finding.is_turn else "stun"
    if finding.address is None:
        return Sentence(
            about,
            False,
            f"{finding.url} does not work here: {finding.problem}. A firewall may block UDP.",
        )
    address = f"{finding.address[0]} port {finding.address[1]}"
    if finding.is_turn:
        return Sentence("turn", True, f"{finding.url} carries bytes for this machine, at {address}.")
    return Sentence("stun", True, f"{finding.url} sees this machine as {address}.")


def _webrtc_sentence(findings: NetworkFindings) -> Sentence:
    """Explains whether browsers, and Python peers that do not listen, link directly with this machine."""
    public_addresses = {
        finding.address[0] for finding in findings.ice if finding.address is not None and not finding.is_turn
    }
    has_turn = any(finding.is_turn and finding.address is not None for finding in findings.ice)
    turn = "the TURN server then carries the bytes" if has_turn else "bytes then go through the task's server"
    if not any(not finding.is_turn for finding in findings.ice):
        text = (
            "The server names no STUN server, so WebRTC links this machine only with peers of its own "
            f"network or with publicly reachable ones; {turn} otherwise."
        )
        return Sentence("webrtc", None, text)
    if not public_addresses:
        text = (
            f"No STUN server answers: WebRTC links this machine with peers of its own network; {turn} "
            "otherwise."
        )
        return Sentence("webrtc", has_turn, text)
    if public_addresses <= set(findings.local_addresses):
        return Sentence("webrtc", True, "No router translates addresses here: WebRTC links are direct.")
    if len(set(findings.mapped)) > 1:
        text = (
            "The router here gives each connection another port (a symmetric NAT): WebRTC links are direct "
            f"only with publicly reachable peers; {turn} otherwise."
        )
        return Sentence("webrtc", has_turn, text)
    if len(findings.mapped) < 2:
        text = (
            "A router translates addresses here; WebRTC links are mostly direct. A second STUN server would "
            "show its kind."
        )
        return Sentence("webrtc", True, text)
    return Sentence(
        "webrtc",
        True,
        "A router translates addresses here, and keeps the port: WebRTC links are mostly direct.",
    )
