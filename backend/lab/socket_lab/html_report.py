"""Writes an attack report as one HTML file: a table of rules by attacks, and the curves of each attack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from backend.lab.attacks.table import ATTACK_SPECS, DATA_ATTACKS
from backend.lab.html_page import html_page
from backend.lab.robustness.attack_plan import NO_ATTACK
from backend.lab.robustness.training_curves import TrainingCurves
from backend.lab.socket_lab.attack_grid import AttackReport, AttackResult
from backend.lab.svg_curves import COLOURS, Line, draw

# From these shares of the clean accuracy on a rule held, or up to them it fell; and of a backdoor's success.
HELD, FELL = 0.95, 0.8
DEFENDED, SUCCEEDED = 0.05, 0.5

_STYLE = """
tbody th { min-width: 7rem; overflow-wrap: anywhere; }
td b { font-variant-numeric: tabular-nums; }
td small { display: block; white-space: nowrap; }
.good { color: var(--good); opacity: 1; }
.bad { color: var(--bad); opacity: 1; }
svg { display: block; width: 100%; max-width: 44rem; height: auto; }
.key { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; list-style: none; margin: .5rem 0; padding: 0; }
.key svg { display: inline-block; height: .75rem; margin-right: .4rem; width: 1.5rem; }
"""


def html_report(report: AttackReport) -> str:
    """Returns the report as a page of HTML."""
    rules, attacks = _names(report, lambda one: one.rule), _names(report, lambda one: one.attack)
    found = {(result.rule, result.attack): result for result in report.results}
    heads = "".join(f"<th>{escape(attack)}</th>" for attack in attacks)
    rows = "\n".join(
        f"<tr><th>{escape(rule)}</th>{''.join(_cell(report, found[rule, one]) for one in attacks)}</tr>"
        for rule in rules
    )
    sections = "\n".join(_section(attack, [found[rule, attack] for rule in rules]) for attack in attacks)
    return html_page(
        f"Attacks on {report.task}",
        f"""<p>{escape(setting_sentence(report))}</p>
<div class="scroll" tabindex="0" role="region" aria-label="Rules by attacks"><table>
<thead><tr><th>Rule</th>{heads}</tr></thead>
<tbody>
{rows}
</tbody></table></div>
<p>Each cell has the final accuracy as a share of that of the mean without attack, {report.clean:.1%} on
held-out examples. Final is the mean of the last tenth of the rounds. A backdoor's success is the share of
test examples with the trigger, or of rare ones, that the model takes for the attackers' class. Honest
updates are left out where a rule that chooses did not use them at all; updates are counted over all
rounds.</p>
{sections}""",
        _STYLE,
    )


def setting_sentence(report: AttackReport) -> str:
    """Returns what was trained, in one sentence."""
    cohort, alpha = report.settings.cohort, report.settings.alpha
    split = "split evenly" if alpha is None else f"split by Dirichlet's alpha {alpha:g}"
    return (
        f"{report.task} ({report.parameters:,} parameters): {cohort.clients} clients, of which "
        f"{cohort.attackers} attack, {cohort.rounds} rounds on a real server, examples {split}."
    )


def _names(report: AttackReport, name: Callable[[AttackResult], str]) -> list[str]:
    return list(dict.fromkeys(name(result) for result in report.results))


def _cell(report: AttackReport, result: AttackResult) -> str:
    curves, share = result.curves, report.share(result)
    kind = "good" if share >= HELD else "bad" if share <= FELL else ""
    notes = []
    if (success := curves.final_backdoor) is not None:
        word = "good" if success <= DEFENDED else "bad" if success >= SUCCEEDED else ""
        notes.append(f'<small class="{word}">Backdoor: {success:.0%}</small>')
    for count, words in (
        (curves.honest_ejections, "Honest left out"),
        (curves.refused, "Refused"),
        (curves.abandoned, "Abandoned rounds"),
    ):
        if count:
            notes.append(f"<small>{words}: {count}</small>")
    return f'<td><b class="{kind}">{share:.0%}</b>{"".join(notes)}</td>'


def _section(attack: str, results: Sequence[AttackResult]) -> str:
    """Returns an attack with its curves, as many in one figure as there are colours."""
    figures = []
    for begin in range(0, len(results), len(COLOURS)):
        part = results[begin : begin + len(COLOURS)]
        figures.append(_figure("Accuracy", part, lambda curves: curves.accuracy))
        if part[0].curves.backdoor:
            figures.append(_figure("Success of the backdoor", part, lambda curves: curves.backdoor))
    reasons = "".join(
        f"<p>{escape(one.rule)}, abandoned rounds: {one.curves.abandoned}. {escape(one.curves.reason)}</p>"
        for one in results
        if one.curves.reason is not None
    )
    return f"<h2>{escape(attack)}</h2>\n<p>{_definition(attack)}</p>\n{''.join(figures)}{reasons}"


def _definition(attack: str) -> str:
    if attack == NO_ATTACK:
        return "All clients are honest."
    spec, does = ATTACK_SPECS[attack], "train on" if attack in DATA_ATTACKS else "send"
    poisoned = f", after training on the examples of {spec.trains_on}" if spec.trains_on else ""
    return escape(f"Attackers {does} {spec.definition}{poisoned} ({spec.source}). They know {spec.knows}.")


def _figure(
    label: str, results: Sequence[AttackResult], curve: Callable[[TrainingCurves], list[float]]
) -> str:
    lines = [_line(result.rule, curve(result.curves)) for result in results]
    keys = "".join(
        f'<li><svg viewBox="0 0 24 12" aria-hidden="true"><path d="M0 6h24" stroke="{colour}" '
        f'stroke-width="4"/></svg>{escape(line.name)}</li>'
        for line, colour in zip(lines, COLOURS, strict=False)
    )
    return f'{draw(label, "round", "percent", lines, with_key=False)}<ul class="key">{keys}</ul>'


def _line(name: str, values: Sequence[float]) -> Line:
    percent = [100 * value for value in values]
    return Line(name, list(range(1, len(values) + 1)), percent, percent, percent)
