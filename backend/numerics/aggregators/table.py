"""The table of all rules: what each is, what it bears, and what it must see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from backend.numerics.aggregators.centre_rules import centered_clip, geometric_median
from backend.numerics.aggregators.composition import Aggregator, PreAggregator, minority
from backend.numerics.aggregators.coordinate_rules import meamed, median, trimmed_mean
from backend.numerics.aggregators.least_diameter import MOST_F, mda, mda_tolerance
from backend.numerics.aggregators.mean_rules import mean, norm_clip
from backend.numerics.aggregators.pre_aggregators import arc, bucketing, distinct, nnm, static_clip
from backend.numerics.aggregators.selection_rules import bulyan, dnc, krum, krum_tolerance, multi_krum
from backend.numerics.aggregators.similarity_rules import flame, fools_gold


@dataclass(frozen=True)
class AggregatorSpec:
    """What is known of a rule before it is made.

    `tolerance(n)` is the largest f that it bears of n updates, `bound` says so in a formula. `cost` is in
    terms of n updates of m values; a pass reads all n x m. `sees` is "sums" if groups of updates may be added
    up before, else "updates". `weights` says whether it respects them, `moves_with` whether adding a vector
    to all updates adds it to the result. `takes` names the arguments that its factory needs.
    """

    definition: str
    source: str
    bound: str
    tolerance: Callable[[int], int]
    cost: str
    sees: Literal["updates", "sums"] = "updates"
    weights: bool = False
    moves_with: bool = True
    takes: tuple[Literal["f", "seed", "size", "limit"], ...] = ()

    @property
    def takes_f(self) -> bool:
        """Whether its factory needs the number of false updates to bear."""
        return "f" in self.takes

    def least(self, f: int) -> int | None:
        """Returns the least number of updates of which the rule bears f false ones; None if there is none."""
        return next((count for count in range(max(f, 1), 16 * f + 16) if self.tolerance(count) >= f), None)


AGGREGATORS: dict[str, Callable[..., Aggregator]] = {
    "mean": mean,
    "median": median,
    "trimmed-mean": trimmed_mean,
    "meamed": meamed,
    "krum": krum,
    "multi-krum": multi_krum,
    "bulyan": bulyan,
    "dnc": dnc,
    "mda": mda,
    "geometric-median": geometric_median,
    "centered-clip": centered_clip,
    "norm-clip": norm_clip,
    "flame": flame,
    "fools-gold": fools_gold,
}

PRE_AGGREGATORS: dict[str, Callable[..., PreAggregator]] = {
    "nnm": nnm,
    "bucketing": bucketing,
    "arc": arc,
    "distinct": distinct,
    "static-clip": static_clip,
}

# What a rule that follows bears; these bound or mix updates, and leave out none.
_NEXT_RULE = "as the rule that follows"

SPECS: dict[str, AggregatorSpec] = {
    "mean": AggregatorSpec(
        "weighted mean",
        "McMahan et al. 2017, algorithm 1",
        "f = 0",
        lambda _count: 0,
        "one pass",
        sees="sums",
        weights=True,
    ),
    "median": AggregatorSpec(
        "median of each coordinate",
        "Yin et al. 2018, definition 1",
        "2f < n",
        minority,
        "one pass, O(log² n) minima and maxima a value",
    ),
    "trimmed-mean": AggregatorSpec(
        "mean of each coordinate without its f lowest and f highest values",
        "Yin et al. 2018, definition 2",
        "2f < n",
        minority,
        "one pass, O(log² n) minima and maxima a value",
        takes=("f",),
    ),
    "meamed": AggregatorSpec(
        "mean of the n - f values of each coordinate nearest its median",
        "Xie et al. 2018, section 4",
        "2f < n",
        minority,
        "one pass, a sort and O(f) steps a value",
        takes=("f",),
    ),
    "krum": AggregatorSpec(
        "the update with the least sum of squared distances to its n - f - 2 nearest",
        "Blanchard et al. 2017, section 4",
        "2f + 2 < n",
        krum_tolerance,
        "one pass, n² m products",
        takes=("f",),
    ),
    "multi-krum": AggregatorSpec(
        "weighted mean of the n - f updates that Krum scores best",
        "Blanchard et al. 2017, section 5",
        "2f + 2 < n",
        krum_tolerance,
        "two passes, n² m products",
        weights=True,
        takes=("f",),
    ),
    "bulyan": AggregatorSpec(
        "n - 2f updates chosen by Krum one after another, then the mean of the n - 4f values of each "
        "coordinate nearest the median",
        "El Mhamdi et al. 2018, section 4",
        "4f + 3 <= n",
        lambda count: max(0, (count - 3) // 4),
        "two passes, n² m products, a sort and O(f) steps a value",
        takes=("f",),
    ),
    "dnc": AggregatorSpec(
        "weighted mean without the f updates with the largest projections on the first principal component",
        "Shejwalkar and Houmansadr 2021, algorithm 2",
        "2f < n",
        minority,
        "two passes, n² m products, n³ steps",
        weights=True,
        takes=("f",),
    ),
    "mda": AggregatorSpec(
        "weighted mean of the n - f updates of least diameter",
        "El Mhamdi et al. 2021, section 3.1",
        f"2f < n and f <= {MOST_F}",
        mda_tolerance,
        "two passes, n² m products, up to 1.5^f steps",
        weights=True,
        takes=("f",),
    ),
    "geometric-median": AggregatorSpec(
        "the point with the least sum of weighted distances to all updates",
        "Pillutla et al. 2022 (RFA), algorithm 2",
        "2f < n",
        minority,
        "two passes, n² m products",
        weights=True,
    ),
    "centered-clip": AggregatorSpec(
        "weighted mean of the differences from a centre, clipped, added to the centre, repeatedly",
        "Karimireddy et al. 2021, algorithm 2",
        "2f < n",
        minority,
        "two passes, n² m products",
        weights=True,
    ),
    "norm-clip": AggregatorSpec(
        "weighted mean of the updates, each clipped to the median of their norms",
        "Nguyen et al. 2022 (FLAME), section 4.3",
        "2f < n",
        minority,
        "two passes",
        weights=True,
        moves_with=False,
    ),
    "flame": AggregatorSpec(
        "weighted mean of the updates in the majority's direction (HDBSCAN on cosines), each clipped to the "
        "median norm, plus Gaussian noise of a thousandth of it",
        "Nguyen et al. 2022, algorithm 1",
        "2f < n",
        minority,
        "two passes, n² m products, n² steps and m draws",
        weights=True,
        moves_with=False,
        takes=("seed",),
    ),
    "fools-gold": AggregatorSpec(
        "mean weighted by how unlike the most similar other client's history each one's is",
        "Fung et al. 2020, algorithm 1",
        "f = 0; any number of clients that act alike, if honest ones do not",
        lambda _count: 0,
        "two passes, n² m products",
        weights=True,
        moves_with=False,
    ),
    "nnm": AggregatorSpec(
        "each update becomes the mean of its n - f nearest, itself among them",
        "Allouah et al. 2023, algorithm 2",
        "2f < n, and " + _NEXT_RULE,
        minority,
        "one pass, n² m products; as much again before a rule on coordinates",
        takes=("f",),
    ),
    "bucketing": AggregatorSpec(
        "weighted means of s updates each, in random order",
        "Karimireddy et al. 2022, algorithm 1",
        _NEXT_RULE + " of n / s buckets",
        lambda count: count,
        "none before a rule on distances, n² m / s products before one on coordinates",
        weights=True,
        takes=("size", "seed"),
    ),
    "arc": AggregatorSpec(
        "the floor(2f (n - f) / n) longest updates are cut to the next shorter norm",
        "Allouah et al. 2025, algorithm 2",
        "2f < n, and " + _NEXT_RULE,
        minority,
        "one pass",
        moves_with=False,
        takes=("f",),
    ),
    "distinct": AggregatorSpec(
        "copies of an update become one, and all but one of them count as found among the f",
        "after Fung et al. 2020, section 3",
        _NEXT_RULE,
        lambda count: count,
        "one pass, n² m products",
        weights=True,
    ),
    "static-clip": AggregatorSpec(
        "each update is cut to a given norm",
        "Sun et al. 2019, section 4",
        _NEXT_RULE,
        lambda count: count,
        "one pass",
        moves_with=False,
        takes=("limit",),
    ),
}
