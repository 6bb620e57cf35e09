"""What was found about a network, and what follows from it, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Address = tuple[str, int]


@dataclass(frozen=True)
class IceFinding:
    """What came of one STUN or TURN server: an address, or why there is none (the end of a sentence)."""

    url: str
    address: Address | None
    problem: str = ""

    @property
    def is_turn(self) -> bool:
        """Whether it carries bytes."""
        return self.url.startswith("turn")


@dataclass(frozen=True)
class NetworkFindings:
    """The results of all probes.

    `local_addresses` are this machine's, `mapped` those of one socket as several STUN servers see it.
    `listening` is None where nobody asked to listen, and empty where it went well.
    """

    server_seconds: float
    local_addresses: Sequence[str]
    ice: Sequence[IceFinding]
    mapped: Sequence[Address]
    listening: str | None
    address: str | None


@dataclass(frozen=True)
class Sentence:
    """One thing to know: good, bad, or neither."""

    about: Literal["server", "listen", "stun", "turn", "webrtc", "relay"]
    is_good: bool | None
    text: str


def sentences(findings: NetworkFindings) -> list[Sentence]:
    """What to tell, in the order in which peers try ways."""
    milliseconds = round(1000 * findings.server_seconds)
    server = Sentence("server", True, f"The server takes peers of the mesh; it answers in {milliseconds} ms.")
    servers = [_of_server(one) for one in findings.ice]
    relay = (
        "Where no other way is found, bytes go through the task's server, sealed: nothing is needed for it."
    )
    return [server, _of_listening(findings), *servers, _of_webrtc(findings), Sentence("relay", True, relay)]


def _of_listening(findings: NetworkFindings) -> Sentence:
    if findings.listening is None:
        return Sentence(
            "listen",
            None,
            "Other Python peers cannot connect to this one, only this one to them. If they can reach this "
            "machine, try --listen HOST:PORT, and --address where it has another one for them.",
        )
    if findings.listening:
        return Sentence(
            "listen",
            False,
            f"At {findings.address} this machine does not reach itself: {findings.listening}. Forward the "
            "port to it, let it through the firewall, or say by --address how others come to it.",
        )
    return Sentence(
        "listen",
        True,
        f"This machine reaches itself at {findings.address}. Whether others do, only they can tell.",
    )


def _of_server(one: IceFinding) -> Sentence:
    about: Literal["stun", "turn"] = "turn" if one.is_turn else "stun"
    if one.address is None:
        return Sentence(
            about,
            False,
            f"{one.url} is of no use here: {one.problem}. A firewall may be in the way of UDP.",
        )
    shown = f"{one.address[0]} port {one.address[1]}"
    if one.is_turn:
        return Sentence("turn", True, f"{one.url} carries bytes for this machine, at {shown}.")
    return Sentence("stun", True, f"{one.url} sees this machine as {shown}.")


def _of_webrtc(findings: NetworkFindings) -> Sentence:
    """Whether browsers, and Python peers that cannot be connected to, link directly with this machine."""
    public_addresses = {one.address[0] for one in findings.ice if one.address is not None and not one.is_turn}
    has_turn = any(one.is_turn and one.address is not None for one in findings.ice)
    turn = "the TURN server then carries the bytes" if has_turn else "bytes then go through the task's server"
    if not any(not one.is_turn for one in findings.ice):
        text = (
            "The server names no STUN server, so that WebRTC links this machine only with peers of its own "
            f"network, or with those that can be reached from everywhere; {turn} otherwise."
        )
        return Sentence("webrtc", None, text)
    if not public_addresses:
        text = (
            "No STUN server answers: WebRTC links this machine with peers of its own network; "
            f"{turn} otherwise."
        )
        return Sentence("webrtc", has_turn, text)
    if public_addresses <= set(findings.local_addresses):
        return Sentence("webrtc", True, "No router translates addresses here: WebRTC links are direct.")
    if len(set(findings.mapped)) > 1:
        text = (
            "The router here gives each connection another port (a symmetric NAT): WebRTC links are direct "
            f"only with peers that can be reached from everywhere; {turn} otherwise."
        )
        return Sentence("webrtc", has_turn, text)
    if len(findings.mapped) < 2:
        text = (
            "A router translates addresses here; WebRTC links are mostly direct. With a second STUN server "
            "its kind could be told."
        )
        return Sentence("webrtc", True, text)
    return Sentence(
        "webrtc",
        True,
        "A router translates addresses here, and keeps the port: WebRTC links are mostly direct.",
    )
