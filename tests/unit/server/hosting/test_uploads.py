from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import NormTooLargeError, NotFiniteError, WrongLengthError
from backend.numerics.vectors import Vector
from backend.server.hosting.limits import TaskLimits
from backend.server.hosting.uploads import PATIENCE_SECONDS, SLOTS, WINDOW_BYTES, UpdateUploads
from backend.wire.messages import CHUNK_BYTES, Chunk, Credit, Offer

LIMITS = TaskLimits(max_upload_bytes=100, stall_seconds=20, min_bytes_per_second=CHUNK_BYTES)
# A whole chunk takes a second at the least rate.
STALL_SECONDS = 21.0


def offer(size: int, number: int = 1) -> Offer:
    return Offer(round=number, version=0, examples=1, steps=1, loss=0.0, sums=[], size=size)


def chunk(offset: int, data: bytes, number: int = 1) -> Chunk:
    return Chunk(round=number, offset=offset, data=memoryview(data))


@given(st.integers(1, WINDOW_BYTES // 2), st.integers(CHUNK_BYTES // 8, CHUNK_BYTES))
def test_an_update_of_any_size_arrives_whole_within_its_credit(values: int, step: int) -> None:
    size, data = 4 * values, np.arange(values, dtype="<f4").tobytes()
    uploads, sent, complete = UpdateUploads(LIMITS), 0, False
    ((_, credit),) = uploads.grant("a", offer(size), 0.0)
    until = credit.until
    while not complete:
        assert until - sent <= WINDOW_BYTES
        part = data[sent : min(until, sent + step)]
        assert part, "the credit ran out"
        complete, credits = uploads.chunk("a", chunk(sent, part), 1.0)
        sent += len(part)
        until = credits[0][1].until if credits else until
    assert np.array_equal(uploads.update("a", math.inf), np.frombuffer(data, "<f4"))
    assert until == size


@pytest.mark.parametrize("step", [1, 3, 4, 7, 40])
@pytest.mark.parametrize("at", [0, 4, 9])
@pytest.mark.parametrize("bad", [math.nan, -math.inf])
def test_a_bad_value_is_found_however_its_bytes_come(step: int, at: int, bad: float) -> None:
    values = np.ones(10, "<f4")
    values[at] = bad
    uploads = sent_in_steps(values, step)
    with pytest.raises(NotFiniteError):
        uploads.update("a", math.inf)


@pytest.mark.parametrize("step", [1, 3, 4, 7, 40])
def test_an_update_over_the_bound_on_its_norm_is_refused(step: int) -> None:
    uploads = sent_in_steps(np.full(9, 2.0, "<f4"), step)
    assert uploads.update("a", 6.0).tolist() == [2.0] * 9
    with pytest.raises(NormTooLargeError):
        uploads.update("a", 5.9)


@pytest.mark.parametrize("step", [1, 7, 40])
def test_a_masked_update_is_words_whatever_they_would_be_worth_as_values(step: int) -> None:
    values = np.array([math.nan, math.inf, 1e38, 1e38], "<f4")
    uploads = sent_in_steps(values, step, masked=True)
    assert bytes(uploads.words("a")) == values.tobytes()


def sent_in_steps(values: Vector, step: int, masked: bool = False) -> UpdateUploads:
    uploads, data = UpdateUploads(LIMITS), values.tobytes()
    uploads.grant("a", offer(len(data)), 0.0, masked)
    for start in range(0, len(data), step):
        uploads.chunk("a", chunk(start, data[start : start + step]), 0.0)
    return uploads


def test_only_a_chunk_that_is_due_and_not_the_last_goes_further() -> None:
    uploads = UpdateUploads(LIMITS)
    assert uploads.inner_chunk("a", chunk(0, b"12"), 0.0) is None
    uploads.grant("a", offer(4), 0.0)
    for other in (chunk(0, b""), chunk(1, b"12"), chunk(0, b"1234"), chunk(0, b"12345"), chunk(0, b"1", 2)):
        assert uploads.inner_chunk("a", other, 0.0) is None
    assert uploads.inner_chunk("b", chunk(0, b"12"), 0.0) is None
    assert uploads.inner_chunk("a", chunk(0, b"12"), 5.0) == []
    assert uploads.chunk("a", chunk(2, b"34"), 6.0) == (True, [])
    assert uploads.update("a", math.inf).tobytes() == b"1234"


def test_who_goes_further_is_given_credit() -> None:
    uploads = UpdateUploads(LIMITS)
    uploads.grant("a", offer(3 * WINDOW_BYTES), 0.0)
    sent, credits = 0, list[tuple[str, Credit]]()
    while not credits:
        credits = uploads.inner_chunk("a", chunk(sent, bytes(CHUNK_BYTES)), 0.0) or []
        sent += CHUNK_BYTES
    assert credits == [("a", Credit(round=1, until=sent + WINDOW_BYTES))]
    assert uploads.inner_chunk("a", chunk(sent, bytes(CHUNK_BYTES + 1)), 0.0) is None


def test_a_slot_is_needed_to_send() -> None:
    uploads = UpdateUploads(LIMITS)
    first = [uploads.grant(str(number), offer(8), 0.0) for number in range(SLOTS + 2)]
    assert [len(credits) for credits in first] == [1] * SLOTS + [0, 0]
    assert uploads.drop("1", 0.0) == [(str(SLOTS), Credit(round=1, until=8))]
    uploads.chunk("0", chunk(0, bytes(8)), 0.0)
    assert uploads.done("0", 2, 0.0) == []
    assert uploads.done("0", 1, 0.0) == [(str(SLOTS + 1), Credit(round=1, until=8))]


def test_who_gives_up_in_the_queue_gets_no_slot() -> None:
    uploads = UpdateUploads(LIMITS)
    for number in range(SLOTS + 2):
        uploads.grant(str(number), offer(8), 0.0)
    assert uploads.drop(str(SLOTS), 0.0) == []
    assert [client for client, _ in uploads.drop("0", 0.0)] == [str(SLOTS + 1)]


@pytest.mark.parametrize("bad", [chunk(4, b"1234"), chunk(0, b""), chunk(0, bytes(9)), chunk(2**50, b"1")])
def test_a_chunk_out_of_place_is_refused(bad: Chunk) -> None:
    uploads = UpdateUploads(LIMITS)
    uploads.grant("a", offer(8), 0.0)
    with pytest.raises(WrongLengthError, match="byte 0 was due"):
        uploads.chunk("a", bad, 0.0)


def test_a_chunk_beyond_the_credit_is_refused() -> None:
    uploads = UpdateUploads(LIMITS)
    uploads.grant("a", offer(4 * WINDOW_BYTES), 0.0)
    for part in range(WINDOW_BYTES // CHUNK_BYTES):
        _, credits = uploads.chunk("a", chunk(part * CHUNK_BYTES, bytes(CHUNK_BYTES)), 0.0)
    assert credits
    with pytest.raises(WrongLengthError):
        uploads.chunk("a", chunk(WINDOW_BYTES, bytes(CHUNK_BYTES + 1)), 0.0)


def test_chunks_of_an_update_that_is_not_expected_are_dropped() -> None:
    uploads = UpdateUploads(LIMITS)
    assert uploads.chunk("a", chunk(0, b"1234"), 0.0) == (False, [])
    uploads.grant("a", offer(4), 0.0)
    assert uploads.chunk("a", chunk(0, b"1234", number=2), 0.0) == (False, [])
    assert uploads.chunk("a", chunk(0, b"1234"), 0.0) == (True, [])
    assert uploads.chunk("a", chunk(0, b"5678"), 0.0) == (False, [])
    assert uploads.update("a", math.inf).tobytes() == b"1234"


def test_an_upload_that_stalls_is_found_in_time() -> None:
    uploads = UpdateUploads(LIMITS)
    assert uploads.timer() is None
    uploads.grant("a", offer(8), 10.0)
    uploads.grant("b", offer(8), 10.0)
    uploads.chunk("b", chunk(0, bytes(4)), 15.0)
    assert uploads.timer() == 10.0 + STALL_SECONDS
    assert uploads.stalled(10.0 + STALL_SECONDS) == [("a", 1)]
    uploads.drop("a", 30.0)
    uploads.chunk("b", chunk(4, bytes(4)), 30.0)
    assert uploads.timer() is None
    assert uploads.stalled(1000.0) == []


def test_an_upload_that_drips_is_found_however_regularly_it_does() -> None:
    uploads = UpdateUploads(LIMITS)
    uploads.grant("a", offer(1000), 0.0)
    for at in range(1000):
        if uploads.stalled(float(at)):
            break
        uploads.chunk("a", chunk(at, b"x"), float(at))
    assert STALL_SECONDS <= at <= STALL_SECONDS + 1


def test_an_upload_at_the_least_rate_may_take_its_time() -> None:
    uploads = UpdateUploads(LIMITS)
    uploads.grant("a", offer(100 * CHUNK_BYTES), 0.0)
    for second in range(100):
        assert uploads.stalled(float(second)) == []
        uploads.chunk("a", chunk(second * CHUNK_BYTES, bytes(CHUNK_BYTES)), float(second))
    assert uploads.update("a", math.inf).nbytes == 100 * CHUNK_BYTES


def test_slow_clients_hold_nobody_up_as_far_as_memory_reaches() -> None:
    uploads = UpdateUploads(LIMITS)
    for number in range(SLOTS + 9):
        uploads.grant(str(number), offer(10), 0.0)
    assert uploads.fill(PATIENCE_SECONDS - 0.1) == []
    assert uploads.timer() == PATIENCE_SECONDS
    # Ten buffers of ten bytes are what the limit allows.
    granted = [client for client, _ in uploads.fill(PATIENCE_SECONDS)]
    assert granted == [str(number) for number in range(SLOTS, 10)]
    assert uploads.timer() == STALL_SECONDS
    uploads.chunk("3", chunk(0, bytes(10)), 6.0)
    assert uploads.done("3", 1, 6.0) == [("10", Credit(round=1, until=10))]


def test_a_model_over_the_limit_on_bytes_has_its_usual_slots() -> None:
    uploads = UpdateUploads(LIMITS)
    first = [uploads.grant(str(number), offer(200), 0.0) for number in range(SLOTS + 1)]
    assert [len(credits) for credits in first] == [1] * SLOTS + [0]
    assert uploads.fill(1000.0) == []


@given(st.floats(0.0, 1e6))
def test_what_is_due_has_stalled(heard: float) -> None:
    """Rounding must not make the host wake up for something that is not there yet, again and again."""
    uploads = UpdateUploads(LIMITS)
    uploads.grant("a", offer(8), heard)
    due = uploads.timer()
    assert due is not None
    assert uploads.stalled(due) == [("a", 1)]
