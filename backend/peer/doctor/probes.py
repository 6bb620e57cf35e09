"""Probes what links need: the server's socket, STUN and TURN servers, and connections to this machine."""

from __future__ import annotations

import asyncio
import secrets
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from aioice import stun
from aioice.ice import get_host_addresses
from aiortc import RTCIceGatherer, RTCIceServer
from aiortc.rtcicetransport import parse_stun_turn_uri
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from backend.crypto.client_keys import KEY_BYTES, identity_key
from backend.errors import FrameError, LinkError, UnreachableError
from backend.peer.doctor.findings import Address, IceFinding, NetworkFindings
from backend.wire.codec import MAX_SERVER_FRAME
from backend.wire.mesh_codec import decode_to_peer, encode_mesh
from backend.wire.mesh_fields import MESH_PROTOCOL
from backend.wire.mesh_messages import Enter, Entered, IceServer
from backend.wire.messages import Closing, Leave

# The time for which aiortc waits for one server.
ICE_SECONDS = 5.0
ANSWER_SECONDS = 10.0


async def examine(
    socket_address: str,
    listen: tuple[str, int] | None,
    address: str | None,
    headers: Mapping[str, str] | None = None,
) -> NetworkFindings:
    """Runs all probes. Raises UnreachableError if even the server is unreachable.

    `listen` is where to accept WebSockets, `address` how others reach it, if that differs; `headers` are for
    a task that needs an invitation.
    """
    seconds, servers = await enter_and_leave(socket_address, headers)
    urls = [(url, server) for server in servers for url in server.urls]
    ice = await asyncio.gather(*(ask_ice(url, server.username, server.credential) for url, server in urls))
    listening = None
    if listen is not None:
        host = f"[{listen[0]}]" if ":" in listen[0] else listen[0]
        address = address or f"ws://{host}:{listen[1]}"
        listening = await reach_itself(listen, address)
    return NetworkFindings(
        server_seconds=seconds,
        local_addresses=get_host_addresses(use_ipv4=True, use_ipv6=True),
        ice=ice,
        mapped=await mappings([url for url, _ in urls if url.startswith("stun:")]),
        listening=listening,
        address=address,
    )


async def enter_and_leave(
    address: str, headers: Mapping[str, str] | None = None
) -> tuple[float, list[IceServer]]:
    """Returns the seconds until the mesh's server answers, and the ICE servers that it names.

    No peer links with this short-lived entry: it accepts no way that other peers could begin.
    """
    enter = Enter(
        token=secrets.token_urlsafe(32),
        kind="peer",
        backend="none",
        agent="minga-peer doctor",
        identity=identity_key(secrets.token_bytes(KEY_BYTES)),
        ways=["websocket"],
        address=None,
        round=0,
        holds=None,
        certificate=None,
    )
    try:
        async with (
            asyncio.timeout(ANSWER_SECONDS),
            connect(
                address,
                subprotocols=[Subprotocol(MESH_PROTOCOL)],
                max_size=MAX_SERVER_FRAME,
                additional_headers=headers,
            ) as connection,
        ):
            started = time.monotonic()
            await connection.send(encode_mesh(enter))
            reply = decode_to_peer(await connection.recv(decode=False))
            seconds = time.monotonic() - started
            await connection.send(encode_mesh(Leave()))
    except (OSError, TimeoutError, WebSocketException, FrameError) as error:
        why = str(error) or "it does not answer"
        raise UnreachableError(
            f"The server's socket at {address} cannot be used: {why}. A proxy may not let WebSockets through."
        ) from error
    if isinstance(reply, Closing):
        raise UnreachableError(f"The server refuses this peer: {reply.reason}")
    if not isinstance(reply, Entered):
        raise UnreachableError("The server did not answer like the server of a mesh.")
    return seconds, reply.ice


async def ask_ice(url: str, username: str, credential: str) -> IceFinding:
    """Returns the address that a STUN server sees, or that a TURN server allocates."""
    candidate_type = "relay" if url.startswith("turn") else "srflx"
    try:
        gatherer = RTCIceGatherer([RTCIceServer([url], username or None, credential or None)])
    except ValueError:
        return IceFinding(url, None, "its address cannot be understood")
    try:
        async with asyncio.timeout(2 * ICE_SECONDS):
            await gatherer.gather()
        candidates = [
            candidate for candidate in gatherer.getLocalCandidates() if candidate.type == candidate_type
        ]
    except (OSError, TimeoutError) as error:
        return IceFinding(url, None, str(error) or "it does not answer")
    finally:
        # The gathered sockets are owned by this connection alone.
        await gatherer._connection.close()
    if not candidates:
        refused = ", or refuses the password" if candidate_type == "relay" else ""
        return IceFinding(url, None, f"it does not answer{refused}")
    return IceFinding(url, (candidates[0].ip, candidates[0].port))


async def mappings(urls: Sequence[str]) -> list[Address]:
    """Returns how several STUN servers see one socket of this machine, without those that do not answer."""
    loop = asyncio.get_running_loop()
    transport, probe = await loop.create_datagram_endpoint(_StunProbe, local_addr=("0.0.0.0", 0))  # noqa: S104 - of any address.
    try:
        addresses = await asyncio.gather(*(probe.ask(url) for url in urls))
    finally:
        transport.close()
    return [address for address in addresses if address is not None]


async def reach_itself(listen: tuple[str, int], address: str) -> str:
    """Listens, and connects to `address`: returns "" if it works, else why not, as the end of a sentence."""
    word = secrets.token_hex(16)

    async def greet(connection: ServerConnection) -> None:
        await connection.send(word)
        await connection.wait_closed()

    try:
        server = await serve(greet, *listen)
    except OSError as error:
        raise LinkError(
            f"Nothing can listen at {listen[0]}:{listen[1]}: {error.strerror or error}. Choose another port."
        ) from error
    async with server:
        try:
            async with asyncio.timeout(ANSWER_SECONDS), connect(address, proxy=None) as connection:
                return "" if await connection.recv() == word else "something else answers there"
        except (OSError, TimeoutError, WebSocketException) as error:
            return str(error) or "nothing answers there"


class _StunProbe(asyncio.DatagramProtocol):
    """Queries STUN servers from one socket."""

    def __init__(self) -> None:
        self._transport: Any = None
        self._requests: dict[bytes, asyncio.Future[Address]] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:  # noqa: ARG002 - asyncio calls it so.
        with suppress(ValueError, KeyError):
            answer = stun.parse_message(data)
            pending = self._requests.get(answer.transaction_id)
            if pending is not None and not pending.done():
                host, port = answer.attributes["XOR-MAPPED-ADDRESS"]
                pending.set_result((host, port))

    async def ask(self, url: str) -> Address | None:
        """Returns how the server at `url` sees this socket; None if it does not answer."""
        server, loop = parse_stun_turn_uri(url), asyncio.get_running_loop()
        try:
            candidates = await loop.getaddrinfo(
                server["host"], server["port"], family=socket.AF_INET, type=socket.SOCK_DGRAM
            )
        except OSError:
            return None
        request = stun.Message(stun.Method.BINDING, stun.Class.REQUEST)
        pending = self._requests[request.transaction_id] = loop.create_future()
        for _ in range(5):
            self._transport.sendto(bytes(request), candidates[0][4])
            with suppress(TimeoutError):
                async with asyncio.timeout(ICE_SECONDS / 5):
                    return await asyncio.shield(pending)
        return None
