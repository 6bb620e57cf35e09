"""Holds parameters in Redis: as one value, like Atre, Jha, Rao (2021), or in shards.

Eventually consistent: a server reads, assimilates and writes, which overwrites results that another server
wrote in between. The store counts these lost results. Shards are read and written in less time, so they lose
fewer.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
from redis import Redis
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.exceptions import RedisError, WatchError
from redis.retry import Retry

from backend.errors import StoreError, TakenOverError
from backend.numerics.aggregation.asynchronous import Assimilate, ClientResult, Memory
from backend.numerics.vectors import VALUE_BYTES, Vector
from backend.stores.parameters.contract import (
    REMEMBERED_RESULTS,
    ParametersGoneError,
    Receipt,
    StoredParameters,
    check_fit,
)
from backend.stores.parameters.packed import PackedHead, pack, unpack

TIMEOUT_SECONDS = 60.0
# The largest value that Redis accepts (proto-max-bulk-len), minus room for the head.
MOST_BYTES = (512 << 20) - 4096


@dataclass(frozen=True)
class _Shard:
    """The content of a shard after a result. `lost` counts results; `base` is the whole model's.

    `held` are the ids of the newest results in it.
    """

    weights: Vector
    memory: Memory
    staleness: int
    lost: int
    base: int
    held: tuple[str, ...]


@dataclass(frozen=True)
class _Work:
    """One result to assimilate, and the shard that is written last."""

    recipe: Assimilate
    result: ClientResult
    base: int
    result_id: str
    last: int


class RedisParameters:
    """A `ParameterStore` in Redis at `address` (a redis-py URL); `run` identifies the run that began it.

    Keys are minga:<task>:run, :shards and :base (results assimilated), and for each shard :value:<i> (see
    `pack`) and :base:<i> (results written there).
    """

    def __init__(self, address: str, task: str, run: str, shards: int = 1) -> None:
        self._task, self._run, self._shards = task, run.encode(), shards
        with _translated():
            self._redis: Redis = Redis.from_url(
                address,
                socket_timeout=TIMEOUT_SECONDS,
                socket_connect_timeout=TIMEOUT_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )

    def begin(self, weights: Vector, memory: Memory, base: int) -> None:
        """See ParameterStore."""
        size = len(weights)
        if (size + len(memory.slot)) * VALUE_BYTES > self._shards * MOST_BYTES:
            raise StoreError(
                f"A model of {size} values is too long for {self._shards} of Redis' values. Give the address "
                "of the parameters more of them, such as ?shards=16."
            )
        with _translated(), self._redis.pipeline(transaction=True) as pipe:
            before = _count(self._redis.get(self._key("shards")))
            for shard in range(self._shards):
                part = self._slice(shard, size)
                head = PackedHead(len(weights[part]), size, memory.count, contained=base)
                pipe.set(self._key("value", shard), pack(head, weights[part], memory.slot[part]))
                pipe.set(self._key("base", shard), base)
            self._unlink(pipe, range(self._shards, before))
            pipe.set(self._key("base"), base)
            pipe.set(self._key("shards"), self._shards)
            pipe.set(self._key("run"), self._run)
            pipe.execute()

    def read(self) -> StoredParameters:
        """See ParameterStore. Reads all shards at one moment, when a result may be in only some of them."""
        values = [self._key("value", shard) for shard in range(self._shards)]
        with _translated():
            base, *values_found = self._fetch(self._redis, self._key("base"), *values)
        return StoredParameters(*_joined(unpack(value)[1:] for value in values_found), int(base))

    def assimilate(self, recipe: Assimilate, result: ClientResult, base: int, result_id: str) -> Receipt:
        """See ParameterStore. Updates one shard after another; the result's id decides which is first.

        Another server that reads before this one writes, and writes after it, overwrites the result. The
        receipt of that server counts it as lost, not the receipt of this call; a retry with the same id
        assimilates it again where it was lost. A shift must not be lost, so it has to run alone.
        """
        started, size = time.perf_counter(), len(result.weights)
        first = crc32(result_id.encode()) % self._shards
        work = _Work(recipe, result, base, result_id, last=(first - 1) % self._shards)
        with _translated(), self._redis.pipeline(transaction=True) as pipe:
            results = {
                shard: self._assimilate_shard(pipe, shard, work)
                for shard in (*range(first, self._shards), *range(first))
            }
        weights, memory = _joined(
            (results[shard].weights, results[shard].memory) for shard in range(self._shards)
        )
        return Receipt(
            weights,
            memory,
            results[work.last].base,
            staleness=max(shard_result.staleness for shard_result in results.values()),
            lost=sum(shard_result.lost * len(shard_result.weights) for shard_result in results.values())
            / max(1, size),
            seconds=time.perf_counter() - started,
            held=_in_all(shard_result.held for shard_result in results.values()),
        )

    def clear(self) -> None:
        """See ParameterStore."""
        with _translated(), self._redis.pipeline(transaction=True) as pipe, suppress(WatchError):
            self._watch(pipe)
            if pipe.get(self._key("run")) == self._run:
                pipe.multi()
                self._unlink(pipe, range(self._shards))
                pipe.unlink(self._key("base"), self._key("shards"), self._key("run"))
                pipe.execute()

    def close(self) -> None:
        """See ParameterStore."""
        self._redis.close()

    def _assimilate_shard(self, pipe: Pipeline, shard: int, work: _Work) -> _Shard:
        """Reads, assimilates and writes one shard. Not atomic: another server may write in between."""
        self._watch(pipe)
        keys = (self._key("value", shard), self._key("base", shard), self._key("base"))
        value, written, model_base = self._fetch(pipe, *keys)
        head, weights, memory = unpack(value)
        check_fit(work.result, head.size)
        if work.result_id in head.turns:
            pipe.reset()
            return _Shard(weights, memory, 0, int(written) - head.contained, int(model_base), head.turns)
        part, staleness = self._slice(shard, head.size), int(written) - work.base
        shard_result = replace(
            work.result,
            weights=work.result.weights[part],
            base=work.result.base[part],
            staleness=staleness,
            first=part.start,
        )
        weights, memory = work.recipe(weights, shard_result, memory)
        head = PackedHead(
            head.values,
            head.size,
            memory.count,
            head.contained + 1,
            (*head.turns[1 - REMEMBERED_RESULTS :], work.result_id),
        )
        pipe.multi()
        pipe.set(self._key("value", shard), pack(head, weights, memory.slot))
        pipe.incr(self._key("base", shard))
        pipe.incrby(self._key("base"), int(shard == work.last))
        try:
            _set, written, model_base = pipe.execute()
        except WatchError as error:
            raise self._taken_over() from error
        return _Shard(weights, memory, staleness, written - head.contained, model_base, head.turns)

    def _watch(self, pipe: Any) -> None:
        """Makes later writes of `pipe` fail if another run begins in the meantime."""
        pipe.watch(self._key("run"))

    def _fetch(self, client: Redis, *keys: str) -> list[bytes]:
        """Returns the values of `keys` at one moment. Raises ParametersGoneError or TakenOverError."""
        reply: Any = client.mget(self._key("run"), *keys)
        run, values = reply[0], list[bytes](reply[1:])
        if run is not None and run != self._run:
            raise self._taken_over()
        if None in reply:
            raise ParametersGoneError(
                f"The parameters of {self._task} are missing from Redis: it restarted or lacks memory, or "
                f"they were never stored."
            )
        return values

    def _taken_over(self) -> TakenOverError:
        return TakenOverError(f"Another server began with the parameters of {self._task} in Redis.")

    def _slice(self, shard: int, size: int) -> slice:
        return slice(size * shard // self._shards, size * (shard + 1) // self._shards)

    def _key(self, name: str, shard: int | None = None) -> str:
        key = f"minga:{self._task}:{name}"
        return key if shard is None else f"{key}:{shard}"

    def _unlink(self, pipe: Pipeline, shards: Iterable[int]) -> None:
        for shard in shards:
            pipe.unlink(self._key("value", shard), self._key("base", shard))


def _count(value: Any) -> int:
    return int(value or 0)


def _in_all(shards: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the results that all shards hold."""
    first, *others = map(dict.fromkeys, shards)
    return tuple(name for name in first if all(name in other for other in others))


def _joined(parts: Iterable[tuple[Vector, Memory]]) -> tuple[Vector, Memory]:
    """Concatenates the shards. Lost results make their counts differ; the minimum is returned."""
    weights, memories = zip(*parts, strict=True)
    if len(weights) == 1:
        return weights[0], memories[0]
    slot = np.concatenate([memory.slot for memory in memories])
    return np.concatenate(weights), Memory(slot, min(memory.count for memory in memories))


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError) as error:
        raise StoreError(
            f"The parameters in Redis cannot be used: {error}. Check that it runs, its address, its password "
            "and its memory."
        ) from error
