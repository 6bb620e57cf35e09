"""SCAFFOLD and FedProx with a real server and real peers, against the papers' algorithms in plain numpy."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.stores.contracts import EvaluationRecord
from backend.stores.embedded import open_stores
from tests.integration.peer.training.plain_training import (
    HELD_OUT,
    SIZES,
    Array,
    Trainer,
    build_plain,
    measured,
    parts,
)
from tests.support.peer.peer_process import joined
from tests.support.timeouts import HEAVY
from tests.support.web.server_process import running

pytestmark = pytest.mark.tensorflow

Vectors = list[tuple[NDArray[np.float32], NDArray[np.float32] | None]]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_plain(tmp_path_factory.mktemp("tasks") / "plain")


def start(plain: Path) -> Array:
    return np.fromfile(plain / "built" / "bundle" / "weights.bin", "<f4").astype(np.float64)


def train(plain: Path, home: Path, rounds: int, *settings: str) -> Vectors:
    """Three peers take part until there are `rounds` versions; weights and control variate of each.

    The same `home` again is the same server, at its address, and the same peers.
    """
    overrides = (f"coordination.rounds={rounds}", *settings)
    flags = [word for one in overrides for word in ("--set", f"plain.{one}")]
    home.mkdir(exist_ok=True)
    port = home / "port"
    if port.exists():
        flags += ["--port", port.read_text()]
    with ExitStack() as stack:
        server = stack.enter_context(running(plain, home / "data", *flags, log=home / "server.log"))
        port.write_text(server.url.rpartition(":")[2])
        peers = [stack.enter_context(joined(home / f"peer-{n}", server.url)) for n in range(len(SIZES))]
        for peer in peers:
            peer.expect("finished")
            assert peer.end() == (0, "")
    return asyncio.run(versions(home / "data"))


async def clients_found(data: Path) -> list[EvaluationRecord]:
    stores = open_stores(data)
    try:
        return [one for one in await stores.records.evaluations(1) if one.source == "clients"]
    finally:
        await stores.close()


async def versions(data: Path) -> Vectors:
    stores = open_stores(data)
    try:
        found: Vectors = []
        for one in await stores.records.versions(1):
            weights = np.frombuffer(await stores.blobs.read(one.weights), "<f4")
            control = await stores.blobs.read(one.control) if one.control else None
            found.append((weights, np.frombuffer(control, "<f4") if control else None))
        return found
    finally:
        await stores.close()


def kept_variates(home: Path) -> list[Path]:
    """The one file of each peer."""
    files = [list((home / f"peer-{n}").glob(".local/state/minga/variates/*")) for n in range(len(SIZES))]
    assert [len(one) for one in files] == [1] * len(SIZES)
    return [path for (path,) in files]


def values(path: Path) -> NDArray[np.float32]:
    return np.frombuffer(path.read_bytes()[8:-32], "<f4")


def same(found: NDArray[np.float32], wanted: Array) -> bool:
    return bool(np.linalg.norm(found - wanted) <= 1e-5 * np.linalg.norm(wanted))


def matches(files: Sequence[Path], own: Sequence[Array]) -> list[int]:
    """Which of the reference's clients each file belongs to."""
    return [next(n for n, wanted in enumerate(own) if same(values(path), wanted)) for path in files]


@pytest.mark.long
def test_scaffold_is_the_papers_over_restarts_of_everybody_and_a_damaged_variate(
    plain: Path, tmp_path: Path
) -> None:
    on = "training.control_variates=true"
    reference = Trainer(start(plain), parts()[0], variates=True)

    found = train(plain, tmp_path / "run", 2, on)
    assert found[0][1] is not None
    assert not found[0][1].any()
    for weights, control in found[1:]:
        reference.round()
        assert control is not None
        assert same(weights, reference.w)
        assert same(control, reference.c)
    who = matches(kept_variates(tmp_path / "run"), reference.own)
    assert sorted(who) == [0, 1, 2]
    assert np.linalg.norm(reference.c) > 1e-3

    # Everybody was restarted; the file of one peer was damaged meanwhile: its variate starts at zero again.
    damaged = kept_variates(tmp_path / "run")[0]
    damaged.write_bytes(damaged.read_bytes()[:-40] + bytes(40))
    reference.own[who[0]][:] = 0.0
    found = train(plain, tmp_path / "run", 4, on)
    for weights, control in found[3:]:
        reference.round()
        assert control is not None
        assert same(weights, reference.w)
        assert same(control, reference.c)
    assert matches(kept_variates(tmp_path / "run"), reference.own) == who


@pytest.mark.timeout(HEAVY)
def test_fedprox_with_yogi_is_the_papers_and_clients_measure_what_one_would_centrally(
    plain: Path, tmp_path: Path
) -> None:
    first, second = np.zeros_like(start(plain)), np.full_like(start(plain), 1e-3**2)

    def yogi(w: Array, mean: Array) -> Array:
        """Reddi et al. 2021, algorithm 2."""
        nonlocal first, second
        first = 0.9 * first + 0.1 * mean
        second = second - 0.01 * mean**2 * np.sign(second - mean**2)
        moved: Array = w + 0.02 * first / (np.sqrt(second) + 1e-3)
        return moved

    reference = Trainer(start(plain), parts()[0], mu=0.4, server=yogi)
    optimizer = '{ name = "fedyogi", eta = 0.02 }'
    found = train(
        plain,
        tmp_path / "run",
        2,
        "training.proximal_mu=0.4",
        "coordination.fraction_evaluate=1.0",
        f"coordination.server_optimizer={optimizer}",
    )
    evaluated = asyncio.run(clients_found(tmp_path / "run" / "data"))
    x, y = zip(*parts()[1], strict=True)
    for (weights, control), one in zip(found[1:], evaluated, strict=True):
        reference.round()
        assert control is None
        assert same(weights, reference.w)
        loss, best, best_three = measured(reference.w, (np.concatenate(x), np.concatenate(y)))
        assert one.examples == sum(HELD_OUT)
        assert one.loss == pytest.approx(loss, rel=1e-5)
        assert list(one.metrics.values()) == pytest.approx([best, best_three], abs=1e-12)
