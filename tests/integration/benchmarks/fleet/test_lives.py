"""The life times of a preemptible fleet are seeded and scaled, and what is none is refused."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random

import pytest

from backend.server.estimates.prices import DEFAULT_PRICES
from benchmarks.fleet.__main__ import main
from benchmarks.fleet.lives import DISTRIBUTIONS, Life, LifeTimes, life_times


def first(lives: LifeTimes, seed: int = 1, number: int = 0) -> list[Life]:
    return list(islice(lives.of_machine(seed, number), 20))


def test_the_lives_of_a_machine_follow_from_the_seed_and_its_number() -> None:
    lives = life_times("exponential", 3600.0, None, 60.0)
    assert first(lives) == first(lives)
    assert first(lives) != first(lives, seed=2)
    assert first(lives) != first(lives, number=1)


def test_lives_and_the_time_until_a_replacement_are_scaled() -> None:
    hours, minutes = (first(life_times("exponential", 3600.0, None, hour)) for hour in (3600.0, 60.0))
    for long, short in zip(hours, minutes, strict=True):
        assert short.seconds == pytest.approx(long.seconds / 60)
        assert short.away == pytest.approx(long.away / 60)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_lives_of_a_distribution_have_its_mean(name: str) -> None:
    random, draw = Random(1), DISTRIBUTIONS[name](100.0)
    drawn = [draw(random) for _ in range(20_000)]
    assert sum(drawn) / len(drawn) == pytest.approx(100.0, rel=0.1)
    assert min(drawn) > 0.0


@pytest.mark.parametrize(("name", "text"), [("a.csv", "seconds\n120\n600\n"), ("a.json", "[120, 600]")])
def test_recorded_lives_are_those_of_the_trace(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    lives = life_times("weibull", 3600.0, tmp_path / name, 60.0)
    assert lives.name == f"trace {name}"
    assert {life.seconds for life in first(lives)} == {2.0, 10.0}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "120\n-5\n", "line 2 is '-5'; write the seconds of one life, a number above 0"),
        ("a.csv", "120\nlong\n", "line 2 is 'long'; write the seconds"),
        ("a.csv", "", "has no life times; write one number of seconds a line"),
        ("a.json", "[120, -5]", "item 2 is -5.0; write the seconds of one life, a number above 0"),
        ("a.json", '["long"]', 'item 1 is "long"; write the seconds'),
        ("a.json", "[]", "has no life times"),
    ],
)
def test_a_trace_that_is_none_is_refused_before_anything_starts(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(SystemExit) as refused:
        main(["--trace", str(tmp_path / name)])
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("line", "new", "words"),
    [
        ('date = "2026-11-22"\n', "", "missing required field `date`"),
        ('date = "2026-11-22"', 'date = "2026-02-30"', "on which you looked it up"),
    ],
)
def test_prices_without_the_day_are_refused(tmp_path: Path, line: str, new: str, words: str) -> None:
    (tmp_path / "prices.toml").write_text(DEFAULT_PRICES.read_text("utf-8").replace(line, new))
    with pytest.raises(SystemExit) as refused:
        main(["--prices", str(tmp_path / "prices.toml")])
    assert words in str(refused.value)
    assert "looked it up" in str(refused.value)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--hour", "0"], "--hour is 0; give a number of seconds above 0."),
        (["--mean", "-1"], "--mean is -1; give a number of seconds above 0."),
        (["--mean", "nan"], "--mean is nan"),
        (["--machines", "0"], "--machines is 0; give a number from 1 on."),
        (["--share", "2"], "--share is 2; give a part of a core"),
        (["--notice", "-1"], "--notice is -1; give seconds from 0 on, or leave it out."),
        (["--instance", "abacus"], "has no machine 'abacus'; it has: c5.2xlarge"),
    ],
)
def test_numbers_with_which_nothing_can_run_are_refused(words: list[str], sentence: str) -> None:
    with pytest.raises(SystemExit) as refused:
        main(words)
    assert sentence in str(refused.value)
