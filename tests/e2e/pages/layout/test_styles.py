"""Styles take their colours, sizes and shapes from the tokens, and the tokens keep letters readable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

STYLES = Path(__file__).parents[4] / "webapp/static/src/ui/styles"
TOKENS, CONTRAST, PRINT = (STYLES / "base" / f"{name}.css" for name in ("tokens", "contrast", "print"))
OTHERS = sorted(set(STYLES.rglob("*.css")) - {TOKENS, CONTRAST, PRINT})
# Sizes relative to the letters around them, and letters within a drawing, which scales as a whole.
OWN_SIZE = re.compile(r"\b(font-size|border-radius): (?!var\(--|inherit|[\d.]+em;|12px;)")
OWN_COLOUR = re.compile(r"#[0-9a-f]{3,8}\b|\b(rgb|hsl|oklch)\(")
ON_SURFACES = ("text", "text-muted", "accent", "accent-strong", "problem", "attention-strong")
SURFACES = ("background", "surface", "surface-sunken")


def declarations(rule: str) -> dict[str, str]:
    return dict(re.findall(r"--([a-z0-9-]+):\s*([^;]+);", rule))


def roots(path: Path) -> list[dict[str, str]]:
    """Returns the declarations of each `:root` of a file, in order."""
    return [
        declarations(rule) for rule in re.findall(r":root \{(.*?)\}", path.read_text(encoding="utf-8"), re.S)
    ]


def luminance(colour: str) -> float:
    """Returns the relative luminance of `#rgb` or `#rrggbb` (WCAG 2.2)."""
    digits = colour.removeprefix("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(first: str, second: str) -> float:
    low, high = sorted(map(luminance, (first, second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.relative_to(STYLES).as_posix())
def test_no_style_has_a_colour_or_a_size_of_its_own(path: Path) -> None:
    own = [
        line.strip()
        for line in path.read_text("utf-8").splitlines()
        if OWN_SIZE.search(line) or OWN_COLOUR.search(line)
    ]
    assert own == []


def test_every_token_that_is_used_is_defined_and_every_other_way_round() -> None:
    defined = set(roots(TOKENS)[0])
    scripts = [path.read_text("utf-8") for path in STYLES.parents[1].rglob("*.ts")]
    styles = [path.read_text("utf-8") for path in STYLES.rglob("*.css")]
    used = set(re.findall(r"var\(--([a-z0-9-]+)", "".join(styles)))
    local = set(re.findall(r"--([a-z0-9-]+):", "".join(path.read_text("utf-8") for path in OTHERS)))
    by_scripts = set(re.findall(r'"--([a-z0-9-]+)"', "".join(scripts)))
    assert (used | by_scripts) - local - {"share", "done"} <= defined
    assert defined <= used | by_scripts


@pytest.mark.parametrize(
    ("path", "at", "least"),
    [(TOKENS, 0, 4.5), (TOKENS, 1, 4.5), (CONTRAST, 0, 7), (CONTRAST, 1, 7), (PRINT, 0, 4.5)],
    ids=["light", "dark", "more contrast, light", "more contrast, dark", "paper"],
)
def test_letters_can_be_read_on_every_surface(path: Path, at: int, least: float) -> None:
    tokens = {**roots(TOKENS)[0], **roots(path)[at]}
    pairs = [(letter, ground) for letter in ON_SURFACES for ground in SURFACES] + [("on-accent", "accent")]
    low = {pair: contrast(tokens[pair[0]], tokens[pair[1]]) for pair in pairs}
    assert {pair: ratio for pair, ratio in low.items() if ratio < least} == {}


def test_endless_animations_move_in_steps() -> None:
    """A new picture for each frame of the screen takes the processor from training."""
    rules = [
        rule
        for path in STYLES.rglob("*.css")
        for rule in re.findall(r"animation: .*;", path.read_text("utf-8"))
    ]
    assert [rule for rule in rules if "infinite" in rule and "steps(" not in rule] == []
