"""Records the unproven contributions to a model, so that those of a refuted client can be removed.

Version m of the weights, float32 [P], is made of a result with the update u_m, trained from version base_m
(see mixing.py):

    w_m = (1 - pull_m) w_(m-1) + pull_m w_base_m + gain_m u_m

For given updates, the weights are linear in each contribution gain_n u_n. Its factor in version m is its
influence, which obeys the same recursion:

    I_n = 1,    I_m = (1 - pull_m) I_(m-1) + pull_m I_base_m for m > n,    I_m = 0 for m < n

So w_m minus the sum of gain_n u_n I_m(n) is the model in which the client's updates were zero. The product of
the factors 1 - pull_m would be too small: bases contain the contribution, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.numerics.aggregation.mixing import Mix
from backend.numerics.vectors import Vector, Vector64, blocks

# A pull is from 0 to 1, so a later influence lies between those in the versions in use. A contribution is
# settled when these differ by no more than this. The error is at most this share of gain x update: of an
# update 1000 times the usual length, 1e-4 of the usual length. The spread falls by a factor of 10 with every
# 1.5 to 5 results of each client, the more slowly the more clients there are and the higher the pull is.
SETTLED_SPREAD = 1e-7
# The same where memory is short: a thousandth of what is taken out may stay.
LOOSE_SPREAD = 1e-3
# The share of rows that may be empty.
EMPTY_ROWS = 0.25


@dataclass(frozen=True)
class _Contribution:
    client: str
    update: Vector
    gain: float


@dataclass(frozen=True)
class _Term:
    factor: float
    vector: Vector


@dataclass
class _TakenOut:
    """A client's contributions, which only the versions in use before `version` contain.

    `influences` has one array for each of these versions: those of the first contributions; of the others
    they are 0. `settled` has the influence 1.
    """

    version: int
    contributions: list[_Contribution]
    influences: dict[int, Vector64]
    settled: Vector | None


class Contributions:
    """Owns the unproven contributions to one model of `size` values, which begins with `version`.

    Versions are numbered as in the parameter store: each result and each shift makes one. A version is in use
    from `oldest` of the last `bases_in_use` to the newest one. Methods raise ValueError, and change nothing,
    if a version is not in use, or a new one does not follow the newest.

    Vectors are shared and must not be written to. A contribution holds its update and one float64 for each
    version in use. A client's settled contributions are one float32 vector: the model, float32 too, was
    rounded more often than their sum, and at the same magnitude. That rounding, not this class, limits how
    little of a long update is left: about 6e-8 of its length times the root of the number of versions.

    What `share` and `correction` return is valid until the next call of `taken_out`, and a share for its own
    version only: no result may be blended between `share` and `taken_out`, and no client be taken out between
    `correction` and `blended`.
    """

    def __init__(self, size: int, version: int = 0) -> None:
        self._size = size
        self._oldest = self._newest = version
        # None: no longer recorded.
        self._rows: list[_Contribution | None] = []
        # Version -> influences of the rows that existed then; of later rows they are 0.
        self._influences: dict[int, Vector64] = {version: np.zeros(0)}
        self._settled: dict[str, Vector] = {}
        self._taken_out: list[_TakenOut] = []

    @property
    def newest(self) -> int:
        """The number of the newest version."""
        return self._newest

    @property
    def clients(self) -> Set[str]:
        """The clients whose contributions are recorded and in the model."""
        return {row.client for row in self._rows if row} | self._settled.keys()

    @property
    def held_bytes(self) -> int:
        """Number of bytes of the recorded vectors and influences."""
        rows = [row for row in self._rows if row]
        arrays: list[Vector | Vector64] = [*self._influences.values(), *self._settled.values()]
        for removed in self._taken_out:
            rows += removed.contributions
            arrays += [*removed.influences.values()] + ([] if removed.settled is None else [removed.settled])
        return sum(array.nbytes for array in arrays) + sum(row.update.nbytes for row in rows)

    def blended(self, version: int, base: int, mix: Mix, client: str | None, update: Vector | None) -> None:
        """Records that a result made `version`, trained from `base` minus its `correction`.

        `client` and `update`, float32 [size], are None for a result that is proven. Raises ValueError for
        another length, too.
        """
        self._check_next(version)
        at_base = self._of(base)
        if (client is None) != (update is None) or (update is not None and len(update) != self._size):
            raise ValueError(f"An unproven contribution is a client and its update of {self._size} values.")
        count = len(self._rows)
        influences = np.ones(count + (client is not None))
        np.multiply(self._influences[self._newest], 1.0 - mix.pull, out=influences[:count])
        influences[: len(at_base)] += mix.pull * at_base
        if client is not None and update is not None:
            self._rows.append(_Contribution(client, update, mix.gain))
        self._influences[version] = influences
        self._newest = version

    def taken_out(self, version: int, client: str) -> None:
        """Records that subtracting the client's share of the newest version made `version`.

        Results of this client that are blended later are recorded as those of any other client.
        """
        self._check_next(version)
        numbers = self._numbers(client)
        if len(numbers) or client in self._settled:
            influences = {number: _part(array, numbers) for number, array in self._influences.items()}
            contributions = [row for row in self._rows if row and row.client == client]
            settled = self._settled.get(client)
            self._taken_out.append(_TakenOut(version, contributions, influences, settled))
        self.proven(client)
        self._influences[version] = self._influences[self._newest]
        self._newest = version

    def share(self, client: str, version: int) -> Vector | None:
        """Returns what the client contributed to a version in use, float32 [size]; None for nothing.

        Removed contributions are not part of it.
        """
        terms = self._terms(self._numbers(client), self._of(version))
        if client in self._settled:
            terms.append(_Term(1.0, self._settled[client]))
        return _sum(terms, self._size)

    def correction(self, version: int) -> Vector | None:
        """Returns what a version in use contains of clients taken out since; None for nothing.

        It is float32 [size], and must be subtracted from a base before a result from it is blended:
        otherwise the base would bring the contributions back.
        """
        self._of(version)
        terms = []
        for removed in self._taken_out:
            if version < removed.version:
                factors = removed.influences[version]
                terms += [
                    _Term(row.gain * factor, row.update)
                    for row, factor in zip(removed.contributions, factors.tolist(), strict=False)
                ]
                if removed.settled is not None:
                    terms.append(_Term(1.0, removed.settled))
        return _sum(terms, self._size)

    def bases_in_use(self, oldest: int, spread: float = SETTLED_SPREAD) -> None:
        """Records that no result will be blended from a base before `oldest`.

        Adds contributions whose influence has become constant, within `spread`, to their client's vector, and
        forgets those taken out that no version in use contains. Takes time proportional to versions times
        contributions, so call it once for many results.
        """
        self._of(oldest)
        for version in range(self._oldest, oldest):
            del self._influences[version]
            for removed in self._taken_out:
                removed.influences.pop(version, None)
        self._oldest = oldest
        self._taken_out = [removed for removed in self._taken_out if removed.version > oldest]
        self._settle(spread)
        self._drop_empty_rows()

    def proven(self, client: str) -> None:
        """Forgets the client's contributions, except those taken out: they stay in the model permanently."""
        for number in self._numbers(client).tolist():
            self._rows[number] = None
        self._settled.pop(client, None)

    def _settle(self, spread: float) -> None:
        numbers, newest = self._constant(spread), self._influences[self._newest]
        of_client: dict[str, list[int]] = {}
        for number in numbers.tolist():
            row = self._rows[number]
            if row:
                of_client.setdefault(row.client, []).append(number)
        for client, own in of_client.items():
            terms = self._terms(own, newest)
            if client in self._settled:
                terms.append(_Term(1.0, self._settled[client]))
            total = _sum(terms, self._size)
            if total is not None:
                self._settled[client] = total
            for number in own:
                self._rows[number] = None

    def _constant(self, spread: float) -> NDArray[np.intp]:
        """Returns the rows whose influences in all versions in use are equal, within `spread`."""
        newest = self._influences[self._newest]
        numbers = np.arange(len(self._influences[self._oldest]))
        for version in range(self._oldest, self._newest):
            distances = np.abs(self._influences[version][numbers] - newest[numbers])
            numbers = numbers[distances <= spread]
            if not len(numbers):
                break
        return numbers

    def _drop_empty_rows(self) -> None:
        kept = np.array([number for number, row in enumerate(self._rows) if row], np.intp)
        # One copy of all influences for many rows.
        if len(self._rows) - len(kept) > len(self._rows) * EMPTY_ROWS:
            self._rows = [row for row in self._rows if row]
            self._influences = {
                version: _part(influences, kept) for version, influences in self._influences.items()
            }

    def _numbers(self, client: str) -> NDArray[np.intp]:
        """Returns the rows of a client, ascending."""
        return np.array(
            [number for number, row in enumerate(self._rows) if row and row.client == client], np.intp
        )

    def _terms(self, numbers: Iterable[int], influences: Vector64) -> list[_Term]:
        rows = ((number, self._rows[number]) for number in numbers if number < len(influences))
        return [_Term(row.gain * float(influences[number]), row.update) for number, row in rows if row]

    def _of(self, version: int) -> Vector64:
        """Returns the influences in a version in use."""
        if version not in self._influences:
            raise ValueError(
                f"Version {version} is not in use; those from {self._oldest} to {self._newest} are."
            )
        return self._influences[version]

    def _check_next(self, version: int) -> None:
        if version != self._newest + 1:
            raise ValueError(f"Version {version} does not follow version {self._newest}.")


def _part(influences: Vector64, numbers: NDArray[np.intp]) -> Vector64:
    """Returns the influences of the given rows, ascending, as far as they have one."""
    part: Vector64 = influences[numbers[: np.searchsorted(numbers, len(influences))]]
    return part


def _sum(terms: list[_Term], size: int) -> Vector | None:
    """Returns the sum of the terms, computed in float64 and rounded to float32; None if all factors are 0."""
    terms = [term for term in terms if term.factor != 0.0]
    if not terms:
        return None
    total = np.empty(size, np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for part in blocks(size):
            scratch = np.zeros(part.stop - part.start)
            for term in terms:
                scratch += np.multiply(term.vector[part], term.factor, dtype=np.float64)
            total[part] = scratch
    return total
