"""Formats words and numbers for people, as filters of the templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from gettext import NullTranslations
from typing import Any

from babel.dates import format_datetime
from babel.numbers import format_compact_decimal, get_decimal_symbol

from backend.formats.task_file import Checkpoints
from backend.server.tasks import formatting
from backend.server.tasks.formatting import number, shape
from backend.server.tasks.gallery import missing, words
from backend.translation import later
from backend.web.auth.user_agents import browser_of
from backend.web.pages.participant_names import participant_name

BACKENDS = {
    "webgpu": "WebGPU",
    "webgl": "WebGL",
    "wasm": "WebAssembly",
    "exact": later("WASM, exact"),
    "cpu": "JavaScript",
    "tensorflow-cpu": "TensorFlow",
    "tensorflow-cuda": later("TensorFlow on a GPU"),
}
KINDS = {"browser": later("Browser"), "peer": later("Headless peer")}
RUNNERS = {"browser": later("browser"), "peer": later("peer")}
REFUSALS = {
    "bad-certificate": later("not signed by the peers that made the previous version"),
    "bad-examples": later("impossible count of examples or steps"),
    "doubtful": later("nobody could tell whether it was right"),
    "duplicate": later("offered twice"),
    "false-shares": later("shares prevented unmasking a sum"),
    "invalid": later("different from others' results on the same examples"),
    "norm-too-large": later("change too large"),
    "no-commitment": later("sent without the commitment that comes first"),
    "no-vector": later("salt sent without its vector"),
    "not-finite": later("values not finite"),
    "not-masked": later("part of a masked round missing or wrong"),
    "not-selected": later("not chosen for the round"),
    "over": later("too late to be checked"),
    # Only in records of earlier servers, which called a slow result of a work unit so.
    "slow-upload": later("sent too slowly"),
    "stale-round": later("too late"),
    "too-slow": later("sent too slowly"),
    "wrong-commitment": later("not the result that was committed to"),
    "wrong-length": later("incomplete, or of another model"),
    "wrong-salt": later("salt that does not match the result"),
}
# What a version's integrity check says; nothing of the owner's own version and of unchecked tasks.
CHECKS = {
    "passed": later("checked: no sign of a backdoor"),
    "accepted": later("accepted by the owner in spite of its check"),
    "failed": later("not offered: signs of a backdoor"),
    "undecided": later("not offered: not good enough yet to be checked"),
    "unmeasured": later("not offered: it could not be checked"),
    "unchecked": later("not offered: not checked"),
}
# The data that volunteers bring, by the kind of preprocessing.
BRINGS = {
    "image": later("You bring pictures."),
    "audio": later("You bring recordings."),
    "table": later("You bring a table as a CSV file."),
    "text": later("You bring texts."),
    "array": later("You bring arrays as .npz files."),
}
DAY = 86_400
DEVICES = {"phone": later("Phone"), "laptop": later("Laptop"), "gpu": later("Graphics card")}
ROLES = {"viewer": later("viewer"), "collaborator": later("collaborator"), "owner": later("owner")}
LABELS = {"accuracy": later("Accuracy"), "loss": later("Loss")}


def counted(value: int, singular: str, plural: str | None = None) -> str:
    """Formats a count with its English noun, for commands: `1 step`, `3 steps`."""
    return f"{number(value)} {singular if value == 1 else plural or singular + 's'}"


def instant(seconds: float) -> str:
    """Formats Unix time for machines: `2026-11-21T16:20:03Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class TemplateWords:
    """Formats values and sentences for the templates in one language."""

    def __init__(self, language: str = "en", sentences: NullTranslations | None = None) -> None:
        sentences = sentences or NullTranslations()
        self._language = language
        self._: Callable[[str], str] = sentences.gettext
        self.ngettext: Callable[[str, str, int], str] = sentences.ngettext
        self._point = get_decimal_symbol(language)

    def filters(self) -> dict[str, Callable[..., str]]:
        """Returns the filters of the templates by name."""
        return {
            "backend": self.backend,
            "between": self.between,
            "browser": self.browser,
            "brings": self.brings,
            "calculations": self.calculations,
            "check": self.check,
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
            "participant_name": participant_name,
            "percent": self.percent,
            "refusal": self.refusal,
            "relative_error": formatting.relative_error,
            "role": self.role,
            "runner": self.runner,
            "shape": shape,
            "size": self.size,
            "search_words": words,
            "standing": self.standing,
        }

    def percent(self, value: float | None) -> str:
        """Formats a share between 0 and 1 as `93.1 %`; a dash when there is none yet."""
        return "–" if value is None else self._localized(f"{value * 100:.1f}\u202f%")

    def decimal(self, value: float | None) -> str:
        """Formats a loss with four digits; a dash when there is none yet."""
        if value is None:
            return "–"
        if 0 < value < 0.001:
            return self._("below %(least)s") % {"least": self._localized("0.001")}
        return self._localized(f"{value:.4g}")

    def between(self, low_ms: float, high_ms: float) -> str:
        """Formats a range of times: `6.5–25 ms`."""
        return self._localized(formatting.between(low_ms, high_ms))

    def operations(self, count: float) -> str:
        """Formats a count of floating-point operations: `45 MFLOP`."""
        return self._localized(formatting.operations(count))

    def calculations(self, count: float) -> str:
        """Formats a count of operations in words: `12`, `4.5 thousand`, `3.4 billion`."""
        return format_compact_decimal(count, format_type="long", locale=self._language, fraction_digits=1)

    def size(self, count: float) -> str:
        """Formats a number of bytes: `3.4 MB`."""
        return self._localized(formatting.size(count))

    def participants(self, count: int) -> str:
        """Formats a number of participants: `1 participant`, `3 participants`."""
        return self._counted(count, self.ngettext("%(count)s participant", "%(count)s participants", count))

    def standing(self, task: Mapping[str, Any]) -> str:
        """Describes the task's current phase in a sentence without a full stop."""
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
                return self._("Combining the updates of round %(round)s") % round_
        if task["participants"]:
            return self._waiting(missing(task))
        if task["version"]:
            return self._("Waiting for volunteers")
        return self._("Waiting for the first volunteer")

    def _waiting(self, missing_count: int) -> str:
        if missing_count == 0:
            return self._("Waiting for more volunteers")
        sentence = self.ngettext(
            "Waiting for %(count)s more volunteer", "Waiting for %(count)s more volunteers", missing_count
        )
        return self._counted(missing_count, sentence)

    def brings(self, kind: str | None) -> str:
        """Describes the data that a task needs from a volunteer."""
        return self._("No data needed: examples are provided.") if kind is None else self._(BRINGS[kind])

    def backend(self, word: str) -> str:
        """Returns the name of a client's backend as its makers write it."""
        return self._(BACKENDS[word]) if word in BACKENDS else word

    def runner(self, words: str) -> str:
        """Describes a client, given its kind and backend such as `browser webgpu`."""
        what, _, runs_on = words.partition(" ")
        who = self._(RUNNERS[what]) if what in RUNNERS else self._("other client")
        if not runs_on:
            return who
        return self._("%(client)s with %(backend)s") % {"client": who, "backend": self.backend(runs_on)}

    def refusal(self, code: str) -> str:
        """Returns the reason why an update was refused, by its code."""
        return self._(REFUSALS[code]) if code in REFUSALS else code

    def check(self, status: str | None) -> str:
        """Describes the integrity check of a version (`check_status`)."""
        return self._(CHECKS[status]) if status in CHECKS else ""

    def role(self, word: str) -> str:
        """Returns the name of an account's role on a task."""
        return self._(ROLES[word]) if word in ROLES else word

    def label(self, name: str) -> str:
        """Returns a metric's name as a label before its value."""
        return self._(LABELS[name]) if name in LABELS else name.replace("_", " ").capitalize()

    def moment(self, seconds: float) -> str:
        """Formats Unix time as `21 Nov 2026, 16:20:03 UTC`; scripts convert it to the reader's time zone."""
        at = datetime.fromtimestamp(seconds, UTC)
        return f"{format_datetime(at, 'd MMM y, HH:mm:ss', locale=self._language)} UTC"

    def duration(self, seconds: float) -> str:
        """Formats a duration: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, from two days on `5 days`."""
        if seconds < 10:
            return self._localized(f"{seconds:.1f} s")
        total = round(seconds)
        if total < 60:
            return f"{total} s"
        if total < 3600:
            return f"{total // 60} min {total % 60} s"
        if total >= 2 * DAY:
            days = round(total / DAY)
            return self._counted(days, self.ngettext("%(count)s day", "%(count)s days", days))
        return f"{number(total // 3600)} h {total % 3600 // 60} min"

    def kept(self, plan: Checkpoints) -> str:
        """Describes in a sentence which versions' weights are kept."""
        parts = [self._("the newest %(count)s") % {"count": number(plan.keep_last)}]
        if plan.keep_best:
            best = self.ngettext("the best", "the best %(count)s", plan.keep_best)
            parts.append(self._counted(plan.keep_best, best))
        if plan.keep_every:
            parts.append(self._("every %(count)sth") % {"count": number(plan.keep_every)})
        return self._(
            "The weights of %(versions)s and of version 0 are kept; others are deleted to save space."
        ) % {"versions": ", ".join(parts)}

    def device(self, word: str) -> str:
        """Returns the name of a class of devices."""
        return self._(DEVICES[word]) if word in DEVICES else word

    def browser(self, agent: str) -> str:
        """Describes the sender of a User-Agent header, such as `Firefox on Android`."""
        browser, system = browser_of(agent)
        if browser is None:
            return agent[:40] or self._("A program")
        if system is None:
            return browser
        return self._("%(browser)s on %(system)s") % {"browser": browser, "system": system}

    def kind(self, word: str) -> str:
        """Returns the name of a client's kind."""
        return self._(KINDS[word]) if word in KINDS else word

    def _counted(self, count: int, sentence: str) -> str:
        return sentence % {"count": number(count)}

    def _localized(self, text: str) -> str:
        """Returns a formatted number with the language's decimal sign."""
        return text.replace(".", self._point)


ENGLISH = TemplateWords()
