"""Writes a leakage report as one HTML file, which loads nothing: pictures side by side, and their figures."""

from __future__ import annotations

from base64 import b64encode
from html import escape

import numpy as np

from backend.lab.html_page import html_page
from backend.lab.leakage.experiment import ATTACKS, LeakageReport, ProtectionResult
from backend.lab.leakage.server_views import PROTECTIONS
from backend.lab.leakage.similarity import Picture
from backend.server.pictures.mosaic import png

# From these values of SSIM on a picture is called recognizable, or hidden.
RECOGNIZABLE, HIDDEN = 0.8, 0.2

_STYLE = """
.pictures { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fill, minmax(6.5rem, 1fr)); }
figure { background: var(--soft); border-radius: .5rem; margin: 0; padding: .5rem; }
figure img { display: block; width: 100%; aspect-ratio: 1; object-fit: contain; image-rendering: pixelated; }
figcaption { font-size: .8rem; line-height: 1.3; margin-top: .4rem; overflow-wrap: anywhere; }
.original { outline: 2px solid currentColor; }
.recognizable { color: var(--bad); font-weight: 600; }
.hidden-picture { color: var(--good); font-weight: 600; }
"""


def html_report(report: LeakageReport) -> str:
    """Returns the report as a page of HTML."""
    settings = report.settings
    sections = "\n".join(_pictures(report, number) for number in range(len(report.originals)))
    rows = "\n".join(_row(result) for result in report.results)
    attacks = "".join(f"<li>{escape(name)}: {escape(text)}</li>" for name, text in ATTACKS.items())
    return html_page(
        f"What updates of {report.task} reveal",
        f"""<p>{escape(setting_sentence(report))}</p>
<div class="scroll"><table>
<thead><tr><th>Protection</th><th class="number">Labels</th>
<th class="number">SSIM</th><th>Best attack</th></tr></thead>
<tbody>
{rows}
</tbody></table></div>
<p>SSIM (Wang et al. 2004) is 1 for equal pictures. Two different pictures of this task have
{report.unrelated:.2f} on average, and the most similar of as many as a sum holds {report.guessed:.2f}.
From {RECOGNIZABLE:g} on a picture is recognizable; up to {HIDDEN:g} it is
hidden. Labels: the share of labels that were restored, of all volunteers that the view is of.</p>
<ul>{attacks}</ul>
<p>Of all attacks and all pictures that they give, the one most like the original is shown, which an attacker
could not choose. Masks hide single updates; what the sum shows depends on the group, here
{settings.protection.group} volunteers.</p>
{sections}""",
        _STYLE,
    )


def setting_sentence(report: LeakageReport) -> str:
    """Returns what was attacked, in one sentence or two."""
    settings, protection = report.settings, report.settings.protection
    pictures = "1 picture" if settings.examples == 1 else f"{settings.examples} pictures"
    steps = "1 step" if report.steps == 1 else f"{report.steps} steps"
    return (
        f"Version 0 of {report.task} ({report.parameters:,} parameters). Each volunteer has {pictures} and "
        f"makes {steps}; a round has {protection.group}. Noise is {protection.noise:g} times the clip of "
        f"{protection.clip:g}."
    )


def _row(result: ProtectionResult) -> str:
    protection = PROTECTIONS[result.protection]
    best = max(result.attacks, key=lambda name: result.attacks[name])
    return (
        f"<tr><td>{escape(protection.title)}<br><small>{escape(protection.sees)}</small></td>"
        f'<td class="number">{result.labels:.0%}</td>'
        f'<td class="number {_kind(result.similarity)}">{result.similarity:.2f}</td>'
        f"<td>{escape(best)}</td></tr>"
    )


def _pictures(report: LeakageReport, number: int) -> str:
    figures = [
        f'<figure class="original">{_image(report.originals[number], "The original")}'
        "<figcaption>The original</figcaption></figure>"
    ]
    for result in report.results:
        one, title = result.reconstructions[number], PROTECTIONS[result.protection].title
        figures.append(
            f"<figure>{_image(one.picture, f'Reconstructed: {title}')}<figcaption>{escape(title)}<br>"
            f'SSIM <span class="{_kind(one.similarity)}">{one.similarity:.2f}</span>, '
            f"{escape(one.attack)}</figcaption></figure>"
        )
    return f'<h2>Picture {number + 1}</h2>\n<div class="pictures">{"".join(figures)}</div>'


def _kind(similarity: float) -> str:
    if similarity >= RECOGNIZABLE:
        return "recognizable"
    return "hidden-picture" if similarity <= HIDDEN else ""


def _image(picture: Picture, text: str) -> str:
    """Returns a picture [height, width, 1 or 3] of levels from 0 to 1 as an element."""
    pixels = np.rint(255 * np.broadcast_to(picture, (*picture.shape[:2], 3))).astype(np.uint8)
    content = b64encode(png(np.ascontiguousarray(pixels))).decode()
    return f'<img src="data:image/png;base64,{content}" alt="{escape(text)}">'
