"""Downloads files from addresses that other people chose, with protection against SSRF.

A malicious address could make the downloading machine connect to its own network (SSRF). Therefore the
host name is resolved once, all of its IP addresses must be public, the connection uses the first of them,
redirects are refused, and length and time are bounded, whatever the host sends.
"""

from __future__ import annotations

import hashlib
import http.client
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from backend.datasets.download_watchdog import DownloadWatchdog
from backend.errors import DataError, MingaError, UnreachableError
from backend.formats.network_address import refused_address

_PORTS = {"https": 443, "http": 80}
_BLOCK = 1 << 16
SILENCE_SECONDS = 30.0
# The slowest accepted rate is 64 KiB/s; every download gets another minute.
SLOWEST, GRACE_SECONDS = 64 << 10, 60.0


@dataclass(frozen=True)
class DownloadRequest:
    """A file to download: at most `bytes` long, with the hash `sha256` if known.

    `private` allows addresses of a local network, for hosts that the person here typed as such. `seconds`
    limits the duration; with None the limit depends on the length.
    """

    address: str
    bytes: int
    sha256: str | None = None
    private: bool = False
    seconds: float | None = None

    @property
    def deadline(self) -> float:
        """Maximum duration in seconds."""
        return GRACE_SECONDS + self.bytes / SLOWEST if self.seconds is None else self.seconds

    @property
    def host(self) -> str:
        """Host name for people."""
        return urlsplit(self.address).netloc


Progress = Callable[[int], None]


def fetch(
    request: DownloadRequest,
    target: Path,
    is_canceled: Callable[[], bool],
    progress: Progress = lambda _: None,
) -> str:
    """Downloads the file to `target` and returns its SHA-256; calls `progress` with the bytes received.

    Raises DataError, with a correction, if the address does not provide that file, and UnreachableError if a
    retry may succeed.
    """
    with DownloadWatchdog(_end_of(request, is_canceled)) as watchdog:
        try:
            with _answer(request, watchdog) as response, target.open("wb") as file:
                return _receive(request, response, file.write, watchdog, progress)
        except (OSError, http.client.HTTPException) as error:
            # What fails after the watchdog shut the connection down has its reason.
            watchdog.check()
            raise _unreachable(request, error) from error


def _end_of(request: DownloadRequest, is_canceled: Callable[[], bool]) -> Callable[[], MingaError | None]:
    """Returns a function that returns why the download has to end, None while it may continue."""
    end = time.monotonic() + request.deadline

    def problem() -> MingaError | None:
        if time.monotonic() > end:
            return UnreachableError(f"{request.host} is too slow: {request.deadline:.0f} seconds are over.")
        return DataError(f"{request.address} was not fetched to its end.") if is_canceled() else None

    return problem


def _unreachable(request: DownloadRequest, error: OSError | http.client.HTTPException) -> UnreachableError:
    known = (TimeoutError, http.client.HTTPException, ssl.SSLError, ConnectionError)
    if isinstance(error, known):
        reason = str(error) or type(error).__name__
        return UnreachableError(f"{request.host} sent an invalid answer ({reason}).")
    return UnreachableError(f"{request.host} cannot be reached ({error.strerror or error}).")


def _receive(
    request: DownloadRequest,
    response: http.client.HTTPResponse,
    write: Callable[[bytes], int],
    watchdog: DownloadWatchdog,
    progress: Progress,
) -> str:
    digest, length = hashlib.sha256(), 0
    while block := response.read1(_BLOCK):
        length += len(block)
        if length > request.bytes:
            raise DataError(_too_long(request))
        watchdog.check()
        digest.update(block)
        write(block)
        progress(length)
    # A connection that was shut down can look like one that has ended.
    watchdog.check()
    if response.length:
        raise UnreachableError(f"{request.host} broke off after {length:,} bytes.")
    actual = digest.hexdigest()
    if request.sha256 is not None and actual != request.sha256:
        raise DataError(
            f"{request.address} is not the file that the task's owner declared: its SHA-256 is "
            f"{actual[:12]}…, not {request.sha256[:12]}…. The owner must restore the file, or create a task "
            "for the new one."
        )
    return actual


def _too_long(request: DownloadRequest) -> str:
    return (
        f"{request.address} is longer than the {request.bytes:,} bytes that were announced; reading stopped "
        "there."
    )


@contextmanager
def _answer(request: DownloadRequest, watchdog: DownloadWatchdog) -> Iterator[http.client.HTTPResponse]:
    parts = urlsplit(request.address)
    connection = _Pinned(request, watchdog)
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers={"Accept-Encoding": "identity", "User-Agent": "minga"})
        with connection.getresponse() as response:
            _check(request, response)
            yield response
    finally:
        connection.close()


def _check(request: DownloadRequest, response: http.client.HTTPResponse) -> None:
    status = response.status
    if 300 <= status < 400:
        raise DataError(
            f"{request.address} redirects to another address, which is not followed. Give the address of the "
            "file itself."
        )
    if status >= 500 or status == 429:
        raise UnreachableError(f"{request.host} answers {status}.")
    if status != 200:
        raise DataError(f"{request.address} is not public: {request.host} answers {status}.")
    if response.length is not None and response.length > request.bytes:
        raise DataError(_too_long(request))


class _Pinned(http.client.HTTPConnection):
    """A connection to the checked IP address; TLS verifies the certificate against the host name."""

    def __init__(self, request: DownloadRequest, watchdog: DownloadWatchdog) -> None:
        parts = urlsplit(request.address)
        self._secure, self._download, self._watchdog = parts.scheme == "https", request, watchdog
        super().__init__(parts.hostname or "", parts.port or _PORTS[parts.scheme], timeout=SILENCE_SECONDS)

    def connect(self) -> None:
        self.sock = socket.create_connection((public_address(self._download), self.port), SILENCE_SECONDS)
        if self._secure:
            self.sock = ssl.create_default_context().wrap_socket(
                self.sock, do_handshake_on_connect=False, server_hostname=self.host
            )
        self._watchdog.attach(self.sock)
        if isinstance(self.sock, ssl.SSLSocket):
            self.sock.do_handshake()


def public_address(request: DownloadRequest) -> str:
    """Resolves the host to an IP address. Raises DataError if any of its addresses is not public."""
    parts = urlsplit(request.address)
    results = socket.getaddrinfo(
        parts.hostname, parts.port or _PORTS[parts.scheme], type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP
    )
    addresses = [str(result[4][0]) for result in results]
    refused = None if request.private else refused_address(addresses, "public")
    if refused is not None:
        raise DataError(
            f"{request.host} is {refused}, an address of a local network. Nothing is fetched from there."
        )
    return addresses[0]
