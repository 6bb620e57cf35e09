import json
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backend.crypto.derive import choice_key
from backend.crypto.keystream import keystream
from backend.numerics import philox
from backend.numerics.masking.sparse import BLOCK, ChosenValues, Residual, block_count, choose, chosen_values

GOLDEN = json.loads((Path(__file__).parents[3] / "contract" / "vectors" / "sparse.json").read_text())
SIZES = st.integers(1, 5000)
SHARES = st.floats(1e-6, 1.0)


def drawn(parameters: int, share: float, seed: int = 1) -> ChosenValues:
    return choose(parameters, share, philox.words(seed, 1, 0, block_count(parameters)))


def values_of(parameters: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return (2 * philox.uniform(seed, 2, 0, parameters) - 1).astype(np.float32)


def test_contexts_choose_the_same_blocks_in_both_languages() -> None:
    for case in GOLDEN["drawn"]:
        context, parameters, share = bytes.fromhex(case["context"]), case["parameters"], case["share"]
        assert choice_key(context).hex() == case["key"]
        words = keystream(bytes.fromhex(case["key"]), block_count(parameters))
        assert choose(parameters, share, words).blocks.tolist() == case["blocks"]
        assert chosen_values(parameters, share) == case["values"]


def test_of_blocks_with_the_same_word_the_earlier_ones_are_chosen() -> None:
    same = GOLDEN["same_words"]
    words = np.array(same["words"], np.uint32)
    blocks = choose(same["parameters"], same["share"], words).blocks.tolist()
    assert blocks == same["blocks"]
    ranked = sorted(range(len(words)), key=lambda block: (words[block], block))
    assert blocks == sorted(ranked[: len(blocks)])


@given(SIZES, SHARES, st.integers(0, 2**32))
def test_every_draw_has_as_many_values_and_no_block_twice(parameters: int, share: float, seed: int) -> None:
    chosen = drawn(parameters, share, seed)
    assert (np.diff(chosen.blocks) > 0).all()
    assert all(0 <= block < block_count(parameters) for block in chosen.blocks)
    sent, _ = chosen.split(np.ones(parameters, np.float32))
    assert len(sent) == chosen_values(parameters, share)
    assert share * parameters <= len(sent) <= share * parameters + 2 * BLOCK


@given(SIZES, SHARES, st.integers(0, 2**32))
def test_what_is_sent_and_what_is_left_are_the_update(parameters: int, share: float, seed: int) -> None:
    values = values_of(parameters, seed)
    before, chosen = values.copy(), drawn(parameters, share, seed)
    sent, left = chosen.split(values)
    assert (chosen.spread(sent) + left == values).all()
    assert not (chosen.spread(sent) * left).any()
    assert (values == before).all()


def test_all_are_sent_where_the_share_is_one() -> None:
    values = values_of(1000, 3)
    sent, left = drawn(1000, 1.0).split(values)
    assert (sent == values).all()
    assert not left.any()


def test_all_blocks_are_chosen_equally_often() -> None:
    counts = np.zeros(40)
    for seed in range(2000):
        counts[drawn(40 * BLOCK, 0.25, seed).blocks] += 1
    # 500 each, with a standard deviation of 19.4.
    assert np.abs(counts - 500).max() < 100


def test_over_rounds_everything_is_sent_once() -> None:
    residual, total, sent = Residual(), np.zeros(1000, np.float64), np.zeros(1000, np.float64)
    for version in range(30):
        # Multiples of 1/256 add up exactly.
        update = np.round(256 * values_of(1000, version)) / np.float32(256)
        chosen = drawn(1000, 0.3, version)
        told, left = chosen.split(update + residual.own(version, 1000))
        residual.keep(version, left)
        total += update
        sent += chosen.spread(told)
    owed = residual.own(30, 1000)
    assert owed.any()
    assert (sent + owed == total).all()


def test_what_a_version_left_is_forgotten_when_the_version_is_trained_again() -> None:
    first, second, third = (np.full(3, value, np.float32) for value in (1.0, 2.0, 3.0))
    residual = Residual()
    assert not residual.own(0, 3).any()
    residual.keep(4, first)
    residual.keep(5, second)
    assert residual.own(6, 3) is second
    # The round of version 5 was abandoned after all.
    assert residual.own(5, 3) is first
    residual.keep(5, third)
    assert residual.own(9, 3) is third


def test_an_update_that_counts_twice_leaves_its_rest_once() -> None:
    first, second = np.ones(3, np.float32), np.full(3, 2, np.float32)
    residual = Residual()
    residual.keep(4, first)
    residual.keep(5, second)
    residual.keep(5, second)
    assert residual.own(6, 3) is second
    assert residual.own(5, 3) is first


def test_nothing_is_owed_to_a_task_that_began_anew() -> None:
    residual = Residual()
    residual.keep(4, np.ones(3, np.float32))
    residual.keep(5, np.ones(3, np.float32))
    assert not residual.own(0, 3).any()
    assert not residual.own(6, 3).any()


def test_nothing_is_owed_to_a_model_of_another_size() -> None:
    residual = Residual()
    residual.keep(4, np.ones(3, np.float32))
    assert residual.own(5, 4).shape == (4,)
    assert not residual.own(5, 4).any()
