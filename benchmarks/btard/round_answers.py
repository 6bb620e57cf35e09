"""What a member's host answers its machine about means: products, lengths, and means made again."""

from __future__ import annotations

from backend.protocols.mesh.byzantine.round_events import MeanRemade, MeansChecked, RemakeMean
from backend.protocols.mesh.byzantine.turn import Turn
from benchmarks.btard.round_arithmetic import RoundArithmetic


def means_checked(
    arithmetic: RoundArithmetic, turn: Turn, coin: bytes, means: tuple[bytes, ...]
) -> MeansChecked:
    """Returns a worker's numbers about all `means`, and those of all workers about its own part's."""
    pieces, own = turn.statements.pieces()[turn.client], turn.part
    told = [
        arithmetic.numbers(piece, mean, turn.part_radius(part), coin, part)
        for part, (piece, mean) in enumerate(zip(pieces, means, strict=True))
    ]
    radius = turn.part_radius(own)
    heard = [arithmetic.numbers(piece, means[own], radius, coin, own) for piece in turn.pieces_of(own)]
    return MeansChecked(*_columns(told), *_columns(heard))


def mean_remade(arithmetic: RoundArithmetic, effect: RemakeMean) -> MeanRemade:
    """Returns a disputed mean, made again, and each worker's numbers about it."""
    mean = arithmetic.mean(effect.pieces, effect.radius)
    found = [
        arithmetic.numbers(piece, mean, effect.radius, effect.coin, effect.part) for piece in effect.pieces
    ]
    return MeanRemade(effect.part, mean, *_columns(found))


def _columns(numbers: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [product for product, _ in numbers], [length for _, length in numbers]
