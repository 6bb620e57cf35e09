"""Words and figures as people read them, for the templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from gettext import NullTranslations
from typing import Any

from babel.dates import format_datetime
from babel.numbers import get_decimal_symbol

from backend.formats.task_file import Checkpoints
from backend.server.tasks import formatting
from backend.server.tasks.formatting import shape
from backend.server.tasks.gallery import missing, words
from backend.web.auth.user_agents import browser_of


def later(text: str) -> str:
    """Marks a sentence of a table for the registry; it is looked up where it is said."""
    return text


BACKENDS = {
    "webgpu": "WebGPU",
    "webgl": "WebGL",
    "wasm": "WebAssembly",
    "cpu": "JavaScript",
    "tensorflow-cpu": "TensorFlow",
    "tensorflow-cuda": later("TensorFlow on a GPU"),
}
KINDS = {"browser": later("Browser"), "peer": later("TensorFlow peer")}
RUNNERS = {"browser": later("browser"), "peer": later("peer")}
REFUSALS = {
    "bad-examples": later("impossible count of examples or steps"),
    "doubtful": later("nobody could tell whether it was right"),
    "duplicate": later("offered twice"),
    "invalid": later("unlike what others made of the same examples"),
    "norm-too-large": later("change too large"),
    "not-finite": later("values not finite"),
    "not-masked": later("part of a masked round missing or wrong"),
    "not-selected": later("not chosen for the round"),
    "over": later("too late to be looked at"),
    "slow-upload": later("sent too slowly"),
    "stale-round": later("too late"),
    "too-slow": later("sent too slowly"),
    "wrong-length": later("incomplete, or of another model"),
}
# What volunteers bring, by the kind of preprocessing.
BRINGS = {
    "image": later("You bring pictures."),
    "table": later("You bring a table as a CSV file."),
    "text": later("You bring texts."),
    "array": later("You bring arrays as .npz files."),
}
DEVICES = {"phone": later("Phone"), "laptop": later("Laptop"), "gpu": later("Graphics card")}
LABELS = {"accuracy": later("Accuracy"), "loss": later("Loss")}


def number(value: float) -> str:
    """A whole number with its thousands apart, `12 345`: by a thin space, in all languages (ISO 80000-1)."""
    return f"{value:,.0f}".replace(",", "\u202f")


def counted(value: int, singular: str, plural: str | None = None) -> str:
    """`1 step`, `3 steps`: for what commands say, in English."""
    return f"{number(value)} {singular if value == 1 else plural or singular + 's'}"


def instant(seconds: float) -> str:
    """Unix time for machines: `2026-11-21T16:20:03Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class TemplateWords:
    """What the templates say by rule, in one language."""

    def __init__(self, language: str = "en", sentences: NullTranslations | None = None) -> None:
        sentences = sentences or NullTranslations()
        self._language = language
        self._: Callable[[str], str] = sentences.gettext
        self.ngettext: Callable[[str, str, int], str] = sentences.ngettext
        self._point = get_decimal_symbol(language)

    def filters(self) -> dict[str, Callable[..., str]]:
        """For the templates."""
        return {
            "backend": self.backend,
            "between": self.between,
            "browser": self.browser,
            "brings": self.brings,
            "decimal": self.decimal,
            "device": self.device,
            "duration": self.duration,
            "instant": instant,
            "kept": self.kept,
            "kind": self.kind,
            "label": self.label,
            "moment": self.moment,
            "number": number,
            "operations": self.operations,
            "participants": self.participants,
            "percent": self.percent,
            "refusal": self.refusal,
            "runner": self.runner,
            "shape": shape,
            "size": self.size,
            "search_words": words,
            "standing": self.standing,
        }

    def percent(self, value: float | None) -> str:
        """A share between 0 and 1 as `93.1 %`; a dash when there is none yet."""
        return "–" if value is None else self._pointed(f"{value * 100:.1f}\u202f%")

    def decimal(self, value: float | None) -> str:
        """A loss with four digits; a dash when there is none yet."""
        if value is None:
            return "–"
        if 0 < value < 0.001:
            return self._("below %(least)s") % {"least": self._pointed("0.001")}
        return self._pointed(f"{value:.4g}")

    def between(self, low_ms: float, high_ms: float) -> str:
        """A range of times: `6.5–25 ms`."""
        return self._pointed(formatting.between(low_ms, high_ms))

    def operations(self, count: float) -> str:
        """Floating-point operations: `45 MFLOP`."""
        return self._pointed(formatting.operations(count))

    def size(self, count: float) -> str:
        """Bytes: `3.4 MB`."""
        return self._pointed(formatting.size(count))

    def participants(self, count: int) -> str:
        """`1 participant`, `3 participants`."""
        return self._counted(count, self.ngettext("%(count)s participant", "%(count)s participants", count))

    def standing(self, task: Mapping[str, Any]) -> str:
        """What happens in a task now, as a sentence without its full stop."""
        round_, version = {"round": number(task["round"])}, {"version": number(task["version"])}
        match task["phase"]:
            case "finished":
                return self._("Finished: the model is trained")
            case "paused":
                return self._("Paused by its owner")
            case "training" if task["scheme"] == "volunteer":
                return self._("Working through epoch %(round)s now") % round_
            case "training":
                return self._("Training round %(round)s now") % round_
            case "evaluating":
                return self._("Measuring version %(version)s now") % version
            case "aggregating":
                return self._("Putting round %(round)s together") % round_
        if task["participants"]:
            return self._waiting(missing(task))
        if task["version"]:
            return self._("Waiting for volunteers")
        return self._("Waiting for the first volunteer")

    def _waiting(self, lacking: int) -> str:
        if lacking == 0:
            return self._("Waiting for more volunteers")
        sentence = self.ngettext(
            "Waiting for %(count)s more volunteer", "Waiting for %(count)s more volunteers", lacking
        )
        return self._counted(lacking, sentence)

    def brings(self, kind: str | None) -> str:
        """What a task wants of who takes part."""
        return self._("You need nothing: examples are given.") if kind is None else self._(BRINGS[kind])

    def backend(self, word: str) -> str:
        """What a client computes with, as its makers write it."""
        return self._(BACKENDS[word]) if word in BACKENDS else word

    def runner(self, words: str) -> str:
        """A client by its kind and backend, such as `browser webgpu`."""
        what, _, runs_on = words.partition(" ")
        who = self._(RUNNERS[what]) if what in RUNNERS else self._("other client")
        if not runs_on:
            return who
        return self._("%(client)s with %(backend)s") % {"client": who, "backend": self.backend(runs_on)}

    def refusal(self, code: str) -> str:
        """Why an update was refused."""
        return self._(REFUSALS[code]) if code in REFUSALS else code

    def label(self, name: str) -> str:
        """A metric's name at the head of its value."""
        return self._(LABELS[name]) if name in LABELS else name.replace("_", " ").capitalize()

    def moment(self, seconds: float) -> str:
        """Unix time as `21 Nov 2026, 16:20:03 UTC`; pages' scripts put it into the reader's own time."""
        at = datetime.fromtimestamp(seconds, UTC)
        return f"{format_datetime(at, 'd MMM y, HH:mm:ss', locale=self._language)} UTC"

    def duration(self, seconds: float) -> str:
        """`0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`."""
        if seconds < 10:
            return self._pointed(f"{seconds:.1f} s")
        whole = round(seconds)
        if whole < 60:
            return f"{whole} s"
        if whole < 3600:
            return f"{whole // 60} min {whole % 60} s"
        return f"{number(whole // 3600)} h {whole % 3600 // 60} min"

    def kept(self, plan: Checkpoints) -> str:
        """Which versions' weights can be had, in a sentence."""
        parts = [self._("the newest %(count)s") % {"count": number(plan.keep_last)}]
        if plan.keep_best:
            best = self.ngettext("the best", "the best %(count)s", plan.keep_best)
            parts.append(self._counted(plan.keep_best, best))
        if plan.keep_every:
            parts.append(self._("every %(count)sth") % {"count": number(plan.keep_every)})
        return self._(
            "Kept are the weights of %(versions)s and version 0; others are let go to save space."
        ) % {"versions": ", ".join(parts)}

    def device(self, word: str) -> str:
        """A class of devices."""
        return self._(DEVICES[word]) if word in DEVICES else word

    def browser(self, agent: str) -> str:
        """What a User-Agent header speaks of, such as `Firefox on Android`."""
        browser, system = browser_of(agent)
        if browser is None:
            return agent[:40] or self._("A program")
        if system is None:
            return browser
        return self._("%(browser)s on %(system)s") % {"browser": browser, "system": system}

    def kind(self, word: str) -> str:
        """What somebody takes part with."""
        return self._(KINDS[word]) if word in KINDS else word

    def _counted(self, count: int, sentence: str) -> str:
        return sentence % {"count": number(count)}

    def _pointed(self, figure: str) -> str:
        """A figure with the language's decimal sign."""
        return figure.replace(".", self._point)


ENGLISH = TemplateWords()
