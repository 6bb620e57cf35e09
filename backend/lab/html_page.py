"""A lab's report as one HTML file, which loads nothing and is readable in light and dark."""

from __future__ import annotations

from html import escape

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; --bad: #b3261e; --good: #1b7f3b; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --good: #7bd88f; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 68rem; padding: 1rem; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: .4rem .8rem .4rem 0; }
th, td { text-align: left; vertical-align: top; }
th { font-weight: 600; }
small { opacity: .8; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
"""


def html_page(title: str, body: str, style: str) -> str:
    """Returns a page with `title`, also as its heading, and `body` in HTML; `style` adds rules of CSS."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{_STYLE}{style}</style>
</head>
<body>
<h1>{escape(title)}</h1>
{body}
</body>
</html>
"""
