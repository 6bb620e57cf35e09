/** The picture of the mesh on the page, with the list of this device's links below it. */

import type { MeshView } from "../../../client/mesh/view";
import { requireElement, setText } from "../../lib/dom";
import { fetchJson } from "../../lib/responses";
import { draw } from "./picture";
import { LinkSpeeds } from "./speeds";
import { dotsOf, type LinkRow, linesOf, type ReportedLink, rowsOf, summaryOf } from "./view";

/** Milliseconds between requests for the links of others. */
const REPORTED_EVERY = 5000;

/** Draws the mesh. Owns the picture, the speeds of links, and the links that others reported. */
export class MeshFigure {
  readonly #root: HTMLElement;
  readonly #task: string;
  readonly #picture: SVGSVGElement | null;
  readonly #speeds = new LinkSpeeds();
  #reported: readonly ReportedLink[] = [];

  constructor(root: HTMLElement, task: string) {
    this.#root = root;
    this.#task = task;
    this.#picture = root.querySelector<SVGSVGElement>("[data-mesh]");
  }

  /** `now` as in `performance.now()`. */
  draw(view: MeshView, now: number): void {
    this.#speeds.look(view.links, now);
    const speed = (client: string) => this.#speeds.of(client);
    const dots = dotsOf(view);
    requireElement(this.#root, "mesh-figure").hidden = dots.length < 2;
    if (this.#picture) draw(this.#picture, dots, linesOf(view, this.#reported, speed));
    setText(requireElement(this.#root, "mesh-summary"), summaryOf(view));
    requireElement(this.#root, "links").replaceChildren(...rowsOf(view, speed).map(itemOf));
  }

  /** Fetches the links of others from the server periodically, while `isOpen` and the page is visible. */
  pollReports(isOpen: () => boolean, changed: () => void): void {
    setInterval(() => {
      if (isOpen() && document.visibilityState === "visible") void this.#fetchReports(changed);
    }, REPORTED_EVERY);
  }

  /** Fetches reports; if that fails none are drawn. */
  async #fetchReports(changed: () => void): Promise<void> {
    const address = `/api/tasks/${this.#task}/mesh`;
    const answer = await fetchJson<{ readonly links: readonly ReportedLink[] }>(address);
    if (answer === null) return;
    this.#reported = answer.links;
    changed();
  }
}

function itemOf({ name, way, how, figures }: LinkRow): HTMLLIElement {
  const item = document.createElement("li");
  item.dataset.way = way ?? "none";
  const dot = document.createElement("span");
  dot.className = "dot";
  const [who, what] = [name, [how, figures].filter(Boolean).join(" · ")].map((text) => {
    const span = document.createElement("span");
    span.textContent = text;
    return span;
  });
  item.append(dot, who ?? "", what ?? "");
  return item;
}
