"""`minga privacy`: computes the noise for a privacy guarantee, or the guarantee of a noise multiplier."""

from __future__ import annotations

import argparse
import json
from decimal import ROUND_CEILING, Decimal
from typing import Any

from backend.commands.number_arguments import number
from backend.commands.terminal.progress import TerminalProgress
from backend.errors import TaskFileError
from backend.server.privacy.accountant import ask_accountant
from backend.server.privacy.epsilon import MAX_EPSILON, Curve, CurveQuery, Epsilons, NoiseQuery, SampledQuery
from backend.server.privacy.mechanism import Mechanism

# Shown at the end of the help.
EXAMPLES = (
    "minga privacy --epsilon 4 --rounds 100",
    "minga privacy --noise-multiplier 1.1 --rounds 100 --taken 20",
)


def register(subparsers: Any) -> None:
    """Adds the command and its flags."""
    parser: argparse.ArgumentParser = subparsers.add_parser("privacy", examples=EXAMPLES)
    question = parser.add_mutually_exclusive_group(required=True)
    question.add_argument("--epsilon", type=_positive, metavar="E", help="compute the noise for this epsilon")
    question.add_argument(
        "--noise-multiplier", type=_positive, metavar="Z", help="compute the epsilon of this noise"
    )
    parser.add_argument("--rounds", type=_count, required=True, metavar="N", help="rounds of the task")
    parser.add_argument(
        "--taken", type=_count, metavar="N", help="rounds that one client takes part in; default all"
    )
    parser.add_argument("--delta", type=_probability, default=1e-5, metavar="D", help="default 1e-5")
    parser.add_argument(
        "--mechanism", choices=("central", "local"), default="central", help="default central"
    )
    parser.add_argument("--tree", action="store_true", help="noise for running sums (DP-FTRL)")
    parser.add_argument(
        "--sampling",
        type=_probability,
        metavar="Q",
        help="assume each client is drawn for a round with this probability; only to compare with papers",
    )
    parser.add_argument("--json", action="store_true", help="report in JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Queries the privacy accountant and prints its answer. Raises TaskFileError."""
    participations = args.taken or args.rounds
    if participations > args.rounds:
        raise TaskFileError("--taken exceeds --rounds: a client takes part in at most all rounds.")
    if args.sampling and (args.tree or args.mechanism != "central"):
        raise TaskFileError("--sampling needs central noise without --tree; leave one of them out.")
    with TerminalProgress("Computing.", quiet=True):
        figures = _noise_for(args, participations) if args.epsilon else _worth(args, participations)
    print(json.dumps(figures) if args.json else _sentences(figures, args, participations))
    return 0


def _noise_for(args: argparse.Namespace, participations: int) -> dict[str, float]:
    mechanism = Mechanism(args.mechanism, 0.0, args.rounds, args.tree)
    query = NoiseQuery(mechanism, participations, args.sampling or 1.0, args.delta, args.epsilon)
    needed = _round_up(ask_accountant(query, float))
    return {"noise_multiplier": needed, "epsilon": args.epsilon, "delta": args.delta}


def _worth(args: argparse.Namespace, participations: int) -> dict[str, float]:
    noise: float = args.noise_multiplier
    if args.sampling:
        sampled = SampledQuery(noise, participations, args.sampling, args.delta)
        epsilon = ask_accountant(sampled, Epsilons).pld
    else:
        mechanism = Mechanism(args.mechanism, noise, args.rounds, args.tree)
        points = dict(ask_accountant(CurveQuery(mechanism, args.delta, None, participations), Curve).points)
        epsilon = points[participations]
    return {"noise_multiplier": noise, "epsilon": epsilon, "delta": args.delta}


def _sentences(figures: dict[str, float], args: argparse.Namespace, participations: int) -> str:
    noise, epsilon = figures["noise_multiplier"], figures["epsilon"]
    shown = f"over {epsilon:g}" if epsilon >= MAX_EPSILON else f"{epsilon:.4g}"
    lines = [
        f"noise_multiplier = {noise:.4g}: epsilon {shown} at delta {args.delta:g} for a client "
        f"that takes part in {participations} of {args.rounds} rounds.",
    ]
    if args.mechanism == "local":
        lines.append(
            "Each client adds noise to its own update, so this holds against the server too; the mean of n "
            "updates has 1 / √n of that noise."
        )
    else:
        lines.append(
            f"The sum of a round's updates gets noise of {noise:.4g} times the clip, so the mean of n "
            f"updates gets {noise:.4g} / n of it: the more clients take part, the less it costs in accuracy."
        )
    if args.sampling:
        lines.append(
            "Volunteers choose when to take part, so Minga claims no gain from sampling: use this only to "
            "compare with papers."
        )
    return "\n".join(lines)


def _round_up(value: float) -> float:
    """Rounds up to four significant digits, because less noise would break the guarantee."""
    unit = Decimal(10) ** (Decimal(value).adjusted() - 3)
    return float(Decimal(value).quantize(unit, ROUND_CEILING))


def _positive(text: str) -> float:
    value = number(text)
    if not 0.0 < value <= MAX_EPSILON:
        raise argparse.ArgumentTypeError(
            f"a number above 0 and up to {MAX_EPSILON:g} is needed, not '{text}'"
        )
    return value


def _probability(text: str) -> float:
    value = number(text)
    if not 0.0 < value < 1.0:
        raise argparse.ArgumentTypeError(f"a number between 0 and 1 is needed, not '{text}'")
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"a whole number from 1 to 1000000 is needed, not '{text}'")
    return int(text)
