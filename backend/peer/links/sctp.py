"""Patches aiortc's SCTP and DTLS to do less for each packet; docs/decisions/0027-links.md has figures.

Differences:

- every second packet is acknowledged, not each (RFC 9260, section 6.2), and immediately when one is missing;
- packets that are sent and not acknowledged are searched for lost ones only after a sign of loss;
- the window begins at ten packets and grows by the acknowledged bytes until the first loss, but not beyond
  what a system's buffers hold and a line of MOST_RATE carries: a packet that they drop costs a timeout;
- that timeout is at least 0.4 s, not 1 s;
- DTLS writes an answer only to packets that have no data.

The patches fit aiortc 1.16, and use its private attributes.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from aiortc.rtcdtlstransport import RTCDtlsTransport
from aiortc.rtcsctptransport import USERDATA_MAX_LENGTH, RTCSctpTransport, SackChunk
from aiortc.utils import uint32_gt, uint32_gte
from OpenSSL import SSL

FIRST_WINDOW = 10 * USERDATA_MAX_LENGTH
# What a socket's buffer holds of a burst of packets, with the system's default limits.
LEAST_MOST_WINDOW = 128 * USERDATA_MAX_LENGTH
# Bytes per second that a window is sized for, by the shortest round trip.
MOST_RATE = 8_000_000
# The most bytes that leave in one burst: a switch may hold no more.
BURST = 16 * USERDATA_MAX_LENGTH
PACKETS_PER_ACKNOWLEDGEMENT = 2
ACKNOWLEDGE_WITHIN = 0.02
LEAST_TIMEOUT, MOST_TIMEOUT = 0.4, 60.0
_TSN_MODULO = 2**32
_MOST_PACKET = 1500


class PatchedSctp(RTCSctpTransport):
    """An RTCSctpTransport with the patches; `patch_sctp` makes it one."""

    _most_window: int
    _least_round_trip: float
    _unacknowledged: int
    _acknowledging: asyncio.TimerHandle | None
    _answering: asyncio.Future[None] | None
    # Whether there was a sign of loss, until no packet has to be sent again.
    _is_suspicious: bool

    def _mark_received(self, tsn: int) -> bool:
        """Whether `tsn` came before. Packets in order, as nearly all are, need no sorting."""
        if (
            self._sack_misordered
            or self._sack_duplicates
            or self._last_received_tsn is None
            or tsn != (self._last_received_tsn + 1) % _TSN_MODULO
        ):
            return super()._mark_received(tsn)
        self._last_received_tsn = tsn
        return False

    async def _send_sack(self) -> None:
        """Acknowledges now, or with the next packet."""
        self._unacknowledged += 1
        is_due = self._unacknowledged >= PACKETS_PER_ACKNOWLEDGEMENT
        if is_due or self._sack_misordered or self._sack_duplicates:
            await self._acknowledge()
            return
        self._sack_needed = False
        if self._acknowledging is None:
            self._acknowledging = asyncio.get_running_loop().call_later(
                ACKNOWLEDGE_WITHIN, self._acknowledge_late
            )

    async def _acknowledge(self) -> None:
        self._unacknowledged = 0
        if self._acknowledging is not None:
            self._acknowledging.cancel()
            self._acknowledging = None
        await super()._send_sack()

    def _acknowledge_late(self) -> None:
        self._acknowledging = None
        if self._association_state == self.State.ESTABLISHED:
            self._answering = asyncio.ensure_future(self._acknowledge_if_there())

    async def _acknowledge_if_there(self) -> None:
        with suppress(ConnectionError):
            await self._acknowledge()

    async def _receive_sack_chunk(self, chunk: SackChunk) -> None:
        """Takes an acknowledgement; one without gaps needs little work."""
        if chunk.gaps or self._is_suspicious or self._fast_recovery_exit is not None:
            self._is_suspicious = True
            await super()._receive_sack_chunk(chunk)
            return
        if uint32_gt(self._last_sacked_tsn, chunk.cumulative_tsn):
            return
        was_full = self._flight_size >= min(self._cwnd, self._most_window)
        acknowledged = self._take_acknowledged(chunk.cumulative_tsn)
        if acknowledged and was_full:
            self._widen(acknowledged)
        if not self._sent_queue:
            self._t3_cancel()
        elif acknowledged:
            self._t3_restart()
        await self._data_channel_flush()
        await self._transmit()

    def _take_acknowledged(self, tsn: int) -> int:
        """Removes the packets that arrived, up to `tsn`; returns their bytes."""
        self._last_sacked_tsn, queue, size = tsn, self._sent_queue, 0
        while queue and uint32_gte(tsn, queue[0].tsn):
            sent = queue.popleft()
            if not size and sent._sent_count == 1:
                self._update_rto(time.time() - (sent._sent_time or 0.0))
            size += sent._book_size
            self._flight_size_decrease(sent)
        return size

    def _widen(self, acknowledged: int) -> None:
        """Widens the window; slow start counts bytes (RFC 9260, 7.2.1; RFC 3465 for two packets at once)."""
        if self._cwnd <= self._ssthresh:
            self._cwnd += min(acknowledged, PACKETS_PER_ACKNOWLEDGEMENT * USERDATA_MAX_LENGTH)
        else:
            self._partial_bytes_acked += acknowledged
            if self._partial_bytes_acked >= self._cwnd:
                self._partial_bytes_acked -= self._cwnd
                self._cwnd += USERDATA_MAX_LENGTH
        self._cwnd = min(self._cwnd, self._most_window)

    def _update_rto(self, round_trip: float) -> None:
        super()._update_rto(round_trip)
        self._least_round_trip = min(self._least_round_trip, max(round_trip, 0.0))
        self._most_window = LEAST_MOST_WINDOW + int(MOST_RATE * self._least_round_trip)
        if self._srtt is not None and self._rttvar is not None:
            self._rto = min(max(self._srtt + 4 * self._rttvar, LEAST_TIMEOUT), MOST_TIMEOUT)

    def _t3_expired(self) -> None:
        self._is_suspicious = True
        super()._t3_expired()

    async def _transmit(self) -> None:
        """Sends as many packets as the window allows."""
        if self._is_suspicious or self._forward_tsn_chunk is not None:
            await super()._transmit()
            self._is_suspicious = self._fast_recovery_exit is not None or any(
                chunk._retransmit or chunk._acked for chunk in self._sent_queue
            )
            return
        window = min(self._flight_size + BURST, self._cwnd, self._most_window)
        while self._outbound_queue and self._flight_size < window:
            chunk = self._outbound_queue.popleft()
            self._sent_queue.append(chunk)
            self._flight_size_increase(chunk)
            chunk._sent_count += 1
            chunk._sent_time = time.time()
            await self._send_chunk(chunk)
            if not self._t3_handle:
                self._t3_start()


class PatchedDtls(RTCDtlsTransport):
    """An RTCDtlsTransport with the patches, which carries no media; `patch_sctp` makes it one."""

    async def _recv_next(self) -> None:
        """Takes the next packet. Raises ConnectionError at the end."""
        tls = self._ssl
        if tls is None or self.state != "connected" or tls.DTLSv1_get_timeout() is not None:
            # The handshake is not done, or has to send again.
            await super()._recv_next()
            return
        tls.bio_write(await self.transport._recv())
        try:
            data = tls.recv(_MOST_PACKET)
        except SSL.ZeroReturnError as error:
            raise ConnectionError("The other ended it.") from error
        except SSL.Error:
            # The packet has no data: it is of the protocol itself, or garbage.
            data = b""
        if not data:
            await self._write_ssl()
        elif self._data_receiver is not None:
            await self._data_receiver._handle_data(data)


def patch_sctp(sctp: RTCSctpTransport | None) -> None:
    """Patches a new association, before it begins, and its DTLS transport."""
    if sctp is None:
        return
    sctp.__class__ = PatchedSctp
    sctp.transport.__class__ = PatchedDtls
    initial = {
        "_most_window": LEAST_MOST_WINDOW,
        "_least_round_trip": MOST_TIMEOUT,
        "_unacknowledged": 0,
        "_acknowledging": None,
        "_answering": None,
        "_is_suspicious": False,
        "_cwnd": FIRST_WINDOW,
    }
    vars(sctp).update(initial)


def unacknowledged(sctp: RTCSctpTransport) -> int:
    """Returns the bytes that the other end may not have received."""
    queues = (sctp._outbound_queue, sctp._sent_queue)
    return sum(len(chunk.user_data) for queue in queues for chunk in queue)
