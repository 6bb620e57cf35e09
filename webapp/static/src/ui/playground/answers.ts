/** Shows the answers of versions side by side. */

import type { AnswerRow } from "./texts";

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...children);
  return made;
}

/** The answer of one version, under its title if there are several. */
export interface ProbabilityBar {
  readonly title: string | null;
  readonly body: HTMLElement;
}

/** Returns a bar for each answer, with its figure. */
export function bars(rows: readonly AnswerRow[]): HTMLElement {
  const items = rows.map(({ label, share, figure, best }) => {
    const value = element("span", "bars-value", figure);
    const name = element("span", "bars-label", label);
    if (share === null) return element("li", "bare", name, value);
    const bar = document.createElement("progress");
    [bar.max, bar.value] = [1, share];
    bar.setAttribute("aria-label", label);
    return element("li", best ? "best" : "", name, bar, value);
  });
  return element("ul", "bars", ...items);
}

/** Returns a text, and its continuation by a version. */
export function writtenText(prompt: string, text: string): HTMLElement {
  return element("p", "written", element("span", "prompt", prompt), text);
}

export function showAnswers(place: HTMLElement, columns: readonly ProbabilityBar[]): void {
  place.replaceChildren(
    ...columns.map(({ title, body }) =>
      element("div", "answer", ...(title === null ? [] : [element("h3", "", title)]), body),
    ),
  );
}
