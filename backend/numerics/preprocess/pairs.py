"""Byte-pair encoding (Sennrich et al. 2016, "Neural machine translation of rare words", algorithm 1)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

Pair = tuple[int, int]


def encode_pieces(pieces: Iterable[bytes], merges: tuple[Pair, ...]) -> list[int]:
    """Returns the symbols of all pieces: bytes are 0 to 255, merge number j is 256 + j."""
    ranks = _ranks(merges)
    encoded: dict[bytes, list[int]] = {}
    symbols: list[int] = []
    for piece in pieces:
        if piece not in encoded:
            encoded[piece] = _encode(list(piece), merges, ranks)
        symbols += encoded[piece]
    return symbols


@lru_cache(maxsize=4)
def _ranks(merges: tuple[Pair, ...]) -> dict[Pair, int]:
    return {pair: number for number, pair in enumerate(merges)}


def _encode(symbols: list[int], merges: Sequence[Pair], ranks: Mapping[Pair, int]) -> list[int]:
    while len(symbols) > 1:
        possible = [ranks[pair] for pair in pairwise(symbols) if pair in ranks]
        if not possible:
            break
        number = min(possible)
        symbols = replaced(symbols, merges[number], 256 + number)
    return symbols


def replaced(symbols: Sequence[int], pair: Pair, by: int) -> list[int]:
    """Returns `symbols` with each `pair` replaced, from left to right."""
    out: list[int] = []
    at = 0
    while at < len(symbols):
        if at + 1 < len(symbols) and (symbols[at], symbols[at + 1]) == pair:
            out.append(by)
            at += 2
        else:
            out.append(symbols[at])
            at += 1
    return out


def find_merges(counts: Mapping[bytes, int], at_most: int) -> list[Pair]:
    """Learns merges from the `counts` of pieces: the most frequent pair first, ties by smaller symbols.

    Returns fewer than `at_most` if no pair occurs twice any more.
    """
    words = [(list(piece), count) for piece, count in counts.items()]
    pairs: Counter[Pair] = Counter()
    where: defaultdict[Pair, set[int]] = defaultdict(set)
    for number, (symbols, count) in enumerate(words):
        for pair in pairwise(symbols):
            pairs[pair] += count
            where[pair].add(number)
    merges: list[Pair] = []
    while len(merges) < at_most and pairs:
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        if pairs[best] < 2:
            break
        for number in where.pop(best):
            _merge(words, number, best, 256 + len(merges), pairs, where)
        merges.append(best)
        pairs.pop(best, None)
    return merges


def _merge(
    words: list[tuple[list[int], int]],
    number: int,
    pair: Pair,
    by: int,
    pairs: Counter[Pair],
    where: defaultdict[Pair, set[int]],
) -> None:
    """Replaces `pair` in one word and corrects the counts of its pairs."""
    symbols, count = words[number]
    for old in pairwise(symbols):
        pairs[old] -= count
    symbols = replaced(symbols, pair, by)
    words[number] = symbols, count
    for new in pairwise(symbols):
        pairs[new] += count
        where[new].add(number)
