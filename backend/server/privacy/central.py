"""Adds a trusted server's noise to aggregates, so that versions reveal little about one client."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from backend.crypto.random_words import KEY_BYTES, keyed_words
from backend.formats.task_file.privacy import PrivacyTable
from backend.numerics.privacy import Words, deviation
from backend.numerics.privacy.gaussian import add_gaussian, gaussian, uniform_words
from backend.numerics.privacy.summing import PrivateMean
from backend.numerics.privacy.tree import Node, add_tree_noise
from backend.numerics.vectors import Vector64


class CentralNoise:
    """Owns the clip and the noise tree (DP-FTRL) of one task's server, from its start on.

    `recorded` is the clip of the newest version. The tree's key is never stored: a restarted server begins a
    new tree, which the account allows for, so that no copy of a data folder can give the same noise on
    other sums. `draw` returns a number of random bytes.
    """

    def __init__(
        self,
        privacy: PrivacyTable,
        recorded: float | None,
        draw: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._privacy = privacy
        self._adaptive = privacy.adaptive.clip() if privacy.adaptive else None
        self._multiplier = privacy.noise_multiplier
        if self._adaptive and self._multiplier:
            self._multiplier = self._adaptive.multiplier_of_sum(self._multiplier)
        self.clip = privacy.clip if recorded is None or not self._adaptive else recorded
        self._draw = draw
        self._key = draw(KEY_BYTES)
        self._leaves = 0

    def mean(self, size: int) -> PrivateMean:
        """Returns the accumulator of a round's updates. It draws noise once, in `PrivateMean.mean`."""
        scale = deviation(self.clip, self._multiplier)

        def add_noise(values: Vector64) -> None:
            if not scale:
                return
            if self._privacy.tree:
                add_tree_noise(values, self._leaves + 1, scale, self._node)
            else:
                add_gaussian(values, scale, self._fresh_words())

        return PrivateMean(size, self.clip, add_noise)

    def next_clip(self, mean: PrivateMean) -> float:
        """Returns the clip after a round; an adaptive one follows the noised count of updates within it."""
        if self._adaptive is None:
            return self.clip
        noise = float(gaussian(self._fresh_words()(uniform_words(1)))[0]) if self._multiplier else 0.0
        return self._adaptive.next(self.clip, mean.within + self._adaptive.count_noise * noise, mean.count)

    def version_recorded(self, clip: float) -> None:
        """Notes that a version was recorded; `clip` is that of the next round."""
        self._leaves += 1
        self.clip = clip

    def _fresh_words(self) -> Words:
        return keyed_words(self._draw(KEY_BYTES))

    def _node(self, node: Node) -> Words:
        level, number = node
        return keyed_words(self._key, (level << 48) + number)
