"""The sum of encoded updates is that of the updates within the stated error, and nothing wraps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import NotFiniteError
from backend.numerics import philox
from backend.numerics.masking.bit_packing import Words, pack_update
from backend.numerics.masking.encoding import (
    Decoded,
    Encoding,
    MaskedContribution,
    add_encoded,
    contribution,
    decode,
    encode,
    error,
    private_contribution,
    round_values,
)
from backend.numerics.masking.rotation import sign_words
from backend.numerics.privacy.clipping import clip_factor, norm_of
from backend.numerics.vectors import BLOCK_VALUES

VECTORS = Path(__file__).parents[3] / "contract" / "vectors"
SIZE = 3000
FIELDS = ("members", "parameters", "rows", "bits", "clip", "noise", "sharers")


def _random(count: int, seed: int) -> Words:
    return np.random.default_rng(seed).integers(0, 2**32, count, dtype=np.uint32)


def _signs(encoding: Encoding) -> Words:
    return _random(sign_words(encoding.parameters), 0)


def _sum(encoding: Encoding, clients: list[MaskedContribution]) -> Words:
    total = np.zeros(encoding.words, np.uint32)
    for seed, told in enumerate(clients, start=1):
        words = _random(encoding.words, seed)
        encode(encoding, told, words, _signs(encoding))
        total += words
    # Of packed parameters only the lowest bits are known.
    total[: encoding.parameters] &= np.uint32(2**encoding.bits - 1)
    return total


def _decoded(encoding: Encoding, clients: list[MaskedContribution]) -> Decoded:
    return decode(encoding, _sum(encoding, clients), _signs(encoding))


def _clients(count: int, norm: float, rows: int = 0) -> list[MaskedContribution]:
    """Clients whose updates agree in part, like real ones, with norms around `norm`."""
    rng = np.random.default_rng(count)
    common = rng.standard_normal(SIZE)
    clients = []
    for _ in range(count):
        update = (common + rng.standard_normal(SIZE)) * rng.uniform(0, 2) * norm / np.sqrt(2 * SIZE)
        told = rng.uniform(0, 1, 2 * rows)
        weight, loss = float(rng.uniform(0.1, 1)), float(rng.uniform(0, 3))
        clients.append(MaskedContribution(update.astype(np.float32), weight, loss, told.tolist()))
    return clients


def _mean(clients: list[MaskedContribution], clip: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The weighted mean of clipped updates, in float64."""
    weighted = [
        told.weight * clip_factor(norm_of(told.update), clip) * told.update.astype(np.float64)
        for told in clients
    ]
    return np.asarray(sum(weighted)) / sum(told.weight for told in clients)


def test_words_and_bytes_equal_the_golden_vectors() -> None:
    for case in json.loads((VECTORS / "encoding.json").read_text("utf-8")):
        encoding = Encoding(**{key: case[key] for key in FIELDS})
        update = np.float32(256 * case["most"]) * (
            2 * philox.uniform(case["seed"], 1, 0, case["parameters"]) - 1
        )
        update = np.floor(update) / np.float32(256)
        words = philox.words(case["seed"], 2, 0, encoding.words)
        signs = philox.words(case["seed"], 3, 0, sign_words(encoding.parameters))
        encode(encoding, MaskedContribution(update, case["weight"], case["loss"], case["told"]), words, signs)
        assert words[: len(case["first"])].tolist() == case["first"]
        assert words[-len(case["last"]) :].tolist() == case["last"]
        assert int(words.sum(dtype=np.uint32)) == case["sum"]
        assert encoding.share_variance == case["share_variance"]
        packed = pack_update(words, encoding.parameters, encoding.bits)
        assert len(packed) == case["bytes"] == encoding.bytes
        assert packed[-200:].hex() == case["packed"]


@pytest.mark.parametrize("bits", [32, 20])
def test_what_is_added_in_blocks_is_what_is_encoded_whole(bits: int) -> None:
    size = BLOCK_VALUES + 7
    encoding = Encoding(5, size, 1, bits, clip=1.0)
    signs = philox.words(1, 1, 0, sign_words(size)) if encoding.rotated else None
    told = MaskedContribution(np.full(size, 0.01, np.float32), 0.7, 0.5, [0.2, 0.4])
    random = philox.words(2, 1, 0, encoding.words)
    before = philox.words(3, 1, 0, encoding.words)
    total, encoded = before.copy(), random.copy()
    add_encoded(encoding, told, lambda start, count: random[start : start + count].copy(), total, signs)
    encode(encoding, told, encoded, signs)
    assert np.array_equal(total, before + encoded)


@pytest.mark.parametrize("bits", [32, 24, 20, 16])
@pytest.mark.parametrize("members", [3, 40])
def test_the_mean_is_within_the_stated_error(members: int, bits: int) -> None:
    encoding = Encoding(members, SIZE, 0, bits, clip=1.0)
    clients = _clients(members, norm=1.0)
    decoded = _decoded(encoding, clients)
    off = decoded.mean - _mean(clients, 1.0)
    stated = error(encoding, members, decoded.weight)
    in_float32 = 2.0**-22 * float(np.abs(decoded.mean).max())
    assert np.abs(off).max() <= stated.worst + in_float32
    assert np.sqrt(np.mean(off**2)) <= 1.1 * stated.deviation + in_float32


def test_a_full_range_is_used_and_never_left() -> None:
    """All members tell the largest values they can, and all are rounded up."""
    for bits, members in [(32, 3), (32, 1000), (16, 7), (16, 4096), (24, 1000)]:
        encoding = Encoding(members, 1, 0, bits, clip=2.0)
        for value in (2.0, -2.0):
            words = np.full(encoding.words, 2**32 - 1, np.uint32)
            encode(
                encoding,
                MaskedContribution(np.array([value], np.float32), 1.0, 0.0, []),
                words,
                np.zeros(1, np.uint32),
            )
            words *= np.uint32(members)
            words[0] &= np.uint32(2**bits - 1)
            decoded = decode(encoding, words, np.zeros(1, np.uint32))
            assert decoded.mean[0] == pytest.approx(value, abs=1.1 * encoding.step)
            assert decoded.weight == members
            assert decoded.unclipped == members
        assert (members + 1) * encoding.levels + members > 2 ** (bits - 1) - 1


def test_what_rides_along_is_told_too() -> None:
    encoding = Encoding(20, SIZE, 2, 16, clip=1.0)
    clients = _clients(20, norm=1.0, rows=2)
    decoded = _decoded(encoding, clients)
    weights = np.array([told.weight for told in clients])
    assert decoded.weight == pytest.approx(weights.sum(), abs=1e-6)
    assert decoded.unclipped == sum(norm_of(told.update) <= 1.0 for told in clients)
    assert 0 < decoded.unclipped < 20
    assert decoded.loss == pytest.approx(
        np.average([told.loss for told in clients], weights=weights), abs=1e-4
    )
    rows = np.array([told.rows for told in clients])
    assert decoded.rows == pytest.approx((weights[:, None] * rows).sum(0).tolist(), abs=1e-3)


def test_losses_and_metrics_beyond_what_can_be_told_do_not_spoil_others() -> None:
    encoding = Encoding(3, 1, 2, 32, clip=1.0)
    told = MaskedContribution(np.zeros(1, np.float32), 1.0, 1e20, [3e9, 6e9, 0.5, 1.0])
    decoded = _decoded(encoding, [told, told])
    assert decoded.loss == 1024.0
    assert decoded.rows == pytest.approx([1024.0, 2048.0, 1.0, 2.0], rel=1e-3)
    assert decoded.rows[0] / decoded.rows[1] == pytest.approx(0.5, abs=1e-5)


@given(st.floats(-5, 5), st.integers(0, 2**32 - 1))
def test_rounding_goes_to_a_neighbour(value: float, word: int) -> None:
    words = np.array([word], np.uint32)
    round_values(np.array([value]), 1.0, 10, words)
    assert int(words.view(np.int32)[0]) in (np.floor(value), np.ceil(value))


@pytest.mark.parametrize("value", [0.001, 0.25, -0.75, 3.5])
def test_rounding_is_right_on_average(value: float) -> None:
    words = _random(400_000, 7)
    round_values(np.full(400_000, value, np.float32), 1.0, 10, words)
    mean = float(words.view(np.int32).mean())
    assert abs(mean - np.float32(value)) < 5 * 0.5 / np.sqrt(400_000)


def test_slices_are_rounded_as_the_whole_is() -> None:
    values, words = np.linspace(-4, 4, 150_000).astype(np.float32), _random(150_000, 3)
    whole, sliced = words.copy(), words.copy()
    round_values(values, 1.5, 5, whole)
    for part in (slice(0, 7), slice(7, 100_001), slice(100_001, None)):
        round_values(values[part], 1.5, 5, sliced[part])
    assert np.array_equal(whole, sliced)


@pytest.mark.parametrize("bits", [32, 20, 16])
def test_room_for_noise_is_left_where_it_is_needed(bits: int) -> None:
    """All members add the largest values and their shares of noise; ten deviations fit."""
    noisy = Encoding(10, SIZE, 0, bits, 1.0, noise=1.0, sharers=7)
    assert noisy.levels < Encoding(10, SIZE, 0, bits, 1.0).levels
    assert 10 * noisy.levels + 10 * np.sqrt(10 * noisy.share_variance) <= 2 ** (bits - 1) - 1
    assert noisy.share_variance <= 2**30


def test_so_many_shares_of_noise_as_must_arrive_make_the_whole() -> None:
    encoding = Encoding(10, SIZE, 0, 24, clip=3.0, noise=0.5, sharers=7)
    assert np.sqrt(7 * encoding.share_variance) * encoding.step == pytest.approx(0.5 * 3.0)


def test_a_private_client_tells_its_update_alone() -> None:
    encoding = Encoding(3, 2, 1, 32, clip=1.0)
    told = private_contribution(np.array([0.5, -0.25], np.float32), 1)
    decoded = _decoded(encoding, [told, told])
    assert decoded.mean == pytest.approx([0.5, -0.25], abs=1e-6)
    assert (decoded.weight, decoded.unclipped, decoded.loss, decoded.rows) == (2.0, 0, 0.0, [0.0, 0.0])


def test_no_rounding_makes_an_update_longer_than_its_sensitivity() -> None:
    encoding = Encoding(30, SIZE, 0, 16, clip=1.0)
    for seed, told in enumerate(_clients(30, norm=3.0)):
        words = _random(encoding.words, seed)
        encode(encoding, told, words, _signs(encoding))
        whole = words[:SIZE].view(np.int32).astype(np.float64)
        assert np.linalg.norm(whole) <= encoding.sensitivity


def test_a_client_without_examples_has_no_weight() -> None:
    told = contribution(np.ones(1, np.float32), 0, 10, float("nan"), [1.0, 2.0])
    assert (told.weight, told.loss, told.rows) == (0.0, 0.0, [0.0, 0.0])
    encoding = Encoding(3, 1, 1, 32, clip=1.0)
    with pytest.raises(ValueError, match="no examples"):
        _decoded(encoding, [told])


def test_a_client_with_many_examples_weighs_no_more_than_a_full_one() -> None:
    told = contribution(np.ones(1, np.float32), 40, 10, 0.5, [20.0, 40.0])
    assert (told.weight, told.rows) == (1.0, [0.5, 1.0])
    assert contribution(told.update, 4, 10, 0.5, []).weight == 0.4


def test_what_cannot_be_told_is_refused_and_changes_nothing() -> None:
    encoding = Encoding(3, 2, 1, 32, clip=1.0)
    fine = np.zeros(2, np.float32)
    words = _random(encoding.words, 1)
    before = words.copy()
    bad = np.array([1.0, np.inf], np.float32)
    for told, raised in [
        (MaskedContribution(bad, 1.0, 0.0, [0.0, 0.0]), NotFiniteError),
        (MaskedContribution(fine, 1.0, float("nan"), [0.0, 0.0]), NotFiniteError),
        (MaskedContribution(fine, 1.0, 0.0, [0.0, float("inf")]), NotFiniteError),
        (MaskedContribution(fine, 1.5, 0.0, [0.0, 0.0]), ValueError),
        (MaskedContribution(fine, float("nan"), 0.0, [0.0, 0.0]), ValueError),
        (MaskedContribution(fine, 1.0, 0.0, [0.0]), ValueError),
        (MaskedContribution(np.zeros(3, np.float32), 1.0, 0.0, [0.0, 0.0]), ValueError),
    ]:
        with pytest.raises(raised):
            encode(encoding, told, words)
        assert np.array_equal(words, before)
    with pytest.raises(ValueError, match="random signs"):
        encode(Encoding(3, 2, 1, 16, clip=1.0), MaskedContribution(fine, 1.0, 0.0, [0.0, 0.0]), words)
    with pytest.raises(ValueError, match="take more bits"):
        Encoding(4096, 1000, 0, 16, clip=1.0, noise=1000.0)
