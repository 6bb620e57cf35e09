"""Files from addresses that others chose: one connection, to a place that is meant to be reached.

Whoever names an address could have the machine that fetches it look into its own network (SSRF). So the name
is resolved once and every address that it has must be a public one; the connection goes to that address and
no other; nothing is redirected; and length and time are bounded.
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from backend.errors import DataError, UnreachableError

_PORTS = {"https": 443, "http": 80}
_BLOCK = 1 << 16
SILENCE_SECONDS = 30.0
# As slow as a bad line may be: 64 KiB a second, and a minute on top.
SLOWEST, GRACE_SECONDS = 64 << 10, 60.0


@dataclass(frozen=True)
class DownloadRequest:
    """What is fetched: at most `bytes` long, with the SHA-256 `sha256` where one is known.

    `private` allows addresses of a local network, for hosts that one reaches there anyway. `seconds` is how
    long it may take; None goes by the length.
    """

    address: str
    bytes: int
    sha256: str | None = None
    private: bool = False
    seconds: float | None = None

    @property
    def deadline(self) -> float:
        """Seconds it may take."""
        return GRACE_SECONDS + self.bytes / SLOWEST if self.seconds is None else self.seconds

    @property
    def host(self) -> str:
        """Its name for people."""
        return urlsplit(self.address).netloc


Tell = Callable[[int], None]


def fetch(
    wanted: DownloadRequest, target: Path, halted: Callable[[], bool], tell: Tell = lambda _: None
) -> str:
    """Writes the file to `target` and gives its SHA-256; `tell` hears how many bytes are there.

    Raises DataError, with what its owner can do, where the address does not give that file, and
    UnreachableError where another try may help.
    """
    begin = time.monotonic()
    try:
        with _answer(wanted) as response, target.open("wb") as file:
            return _receive(wanted, response, file.write, begin, halted, tell)
    except (TimeoutError, http.client.HTTPException, ssl.SSLError, ConnectionError) as error:
        reason = str(error) or type(error).__name__
        raise UnreachableError(f"{wanted.host} does not answer as it should ({reason}).") from error
    except OSError as error:
        raise UnreachableError(f"{wanted.host} cannot be reached ({error.strerror or error}).") from error


def _receive(
    wanted: DownloadRequest,
    response: http.client.HTTPResponse,
    write: Callable[[bytes], int],
    begin: float,
    halted: Callable[[], bool],
    tell: Tell,
) -> str:
    digest, length = hashlib.sha256(), 0
    while block := response.read1(_BLOCK):
        length += len(block)
        if length > wanted.bytes:
            raise DataError(_too_long(wanted))
        if time.monotonic() - begin > wanted.deadline:
            raise UnreachableError(
                f"{wanted.host} is too slow: {length:,} bytes in {wanted.deadline:.0f} seconds."
            )
        if halted():
            raise DataError(f"{wanted.address} was not fetched to its end.")
        digest.update(block)
        write(block)
        tell(length)
    if response.length:
        raise UnreachableError(f"{wanted.host} broke off after {length:,} bytes.")
    found = digest.hexdigest()
    if wanted.sha256 is not None and found != wanted.sha256:
        raise DataError(
            f"{wanted.address} is another file than the task's owner meant: its SHA-256 is {found[:12]}…, "
            f"not {wanted.sha256[:12]}…. The owner has to put the file back, or make a task of the new one."
        )
    return found


def _too_long(wanted: DownloadRequest) -> str:
    return (
        f"{wanted.address} is longer than the {wanted.bytes:,} bytes that were announced; it was not read on."
    )


@contextmanager
def _answer(wanted: DownloadRequest) -> Iterator[http.client.HTTPResponse]:
    parts = urlsplit(wanted.address)
    connection = _Pinned(wanted)
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers={"Accept-Encoding": "identity", "User-Agent": "minga"})
        response = connection.getresponse()
        _check(wanted, response)
        yield response
    finally:
        connection.close()


def _check(wanted: DownloadRequest, response: http.client.HTTPResponse) -> None:
    status = response.status
    if 300 <= status < 400:
        raise DataError(
            f"{wanted.address} sends on to another address, which is not followed. Name the address where "
            "the file itself lies."
        )
    if status >= 500 or status == 429:
        raise UnreachableError(f"{wanted.host} answers {status}.")
    if status != 200:
        raise DataError(f"{wanted.address} is not there for everybody: {wanted.host} answers {status}.")
    if response.length is not None and response.length > wanted.bytes:
        raise DataError(_too_long(wanted))


class _Pinned(http.client.HTTPConnection):
    """A connection to the address that was looked at, under the name that certificates are made out to."""

    def __init__(self, wanted: DownloadRequest) -> None:
        parts = urlsplit(wanted.address)
        self._secure, self._wanted = parts.scheme == "https", wanted
        super().__init__(parts.hostname or "", parts.port or _PORTS[parts.scheme], timeout=SILENCE_SECONDS)

    def connect(self) -> None:
        self.sock = socket.create_connection((public_address(self._wanted), self.port), SILENCE_SECONDS)
        if self._secure:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)


def public_address(wanted: DownloadRequest) -> str:
    """The IP address to connect to. Raises DataError where the name leads into a local network."""
    parts = urlsplit(wanted.address)
    found = socket.getaddrinfo(
        parts.hostname, parts.port or _PORTS[parts.scheme], type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )
    addresses = [str(one[4][0]) for one in found]
    if not wanted.private:
        for one in addresses:
            if not _is_public(one):
                raise DataError(
                    f"{wanted.host} is {one}, an address of a local network. Nothing is fetched from there."
                )
    return addresses[0]


def _is_public(address: str) -> bool:
    ip = ipaddress.ip_address(address.partition("%")[0])
    mapped = getattr(ip, "ipv4_mapped", None) or ip
    return bool(mapped.is_global and not mapped.is_multicast)
