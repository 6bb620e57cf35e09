"""A server promises noise in terms that switch it off: a clip of 0 scales the noise, too, to nothing.

The noise is stated as a multiple of the clip, so `--min-noise` alone does not notice. Without microbatches
the mechanism `examples` has no step to which it adds any.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.support.attacks.lying_rounds_server import plan_of
from tests.support.attacks.plain_server import LOCAL, NOISY, PlainServer, left, welcome

EXAMPLES = replace(LOCAL, mechanism="examples", microbatch=1, visits=1)
STEPS = replace(NOISY, clip=0.0, noise=0.0, example_clip=4.0, example_noise=2.0, microbatch=1)


@pytest.mark.parametrize("min_noise", [0.0, 2.0])
@pytest.mark.parametrize("clip", [0.0, -1.0, 1e-40, float("inf"), float("nan")])
async def test_an_update_is_not_sent_for_a_clip_that_scales_its_noise_to_nothing(
    tmp_path: Path, clip: float, min_noise: float
) -> None:
    plan = replace(plan_of(1, 0), masking=None, privacy=replace(NOISY, clip=clip))
    server = PlainServer([welcome(replace(LOCAL, clip=clip))], [plan])
    assert "in terms that protect nothing" in await left(server, tmp_path, min_noise)
    assert server.updates == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("noise", float("inf")),
        ("noise", float("nan")),
        ("noise", -2.0),
        ("delta", 0.0),
        ("delta", 1.0),
        ("delta", float("nan")),
    ],
)
async def test_terms_that_are_no_amounts_are_refused(tmp_path: Path, field: str, value: float) -> None:
    server = PlainServer([welcome(replace(LOCAL, **{field: value}))], [])
    assert "in terms that protect nothing" in await left(server, tmp_path)


async def test_gradients_are_not_computed_without_a_microbatch_to_add_noise_to(tmp_path: Path) -> None:
    plan = replace(plan_of(1, 0), masking=None, privacy=replace(STEPS, microbatch=0), shards=[])
    server = PlainServer([welcome(replace(EXAMPLES, microbatch=0))], [plan])
    assert "in terms that protect nothing" in await left(server, tmp_path, 2.0)
    assert server.updates == []
