/** Draws a mesh: peers on a circle, the links between them, and the current traffic. Pure except for `draw`. */

import type { Way } from "../../../protocol/wire/mesh";

export interface DrawnPeer {
  readonly client: string;
  /** A browser or a Python peer. */
  readonly kind: "browser" | "peer";
  readonly label: string;
  readonly mine: boolean;
  /** Whether it averages in the same group as this device. */
  readonly grouped: boolean;
  /** Its activity in the server's list: a colour of the stylesheet. */
  readonly status: string;
}

export interface DrawnLink {
  readonly ends: readonly [string, string];
  readonly way: Way;
  /** Current bytes per second; 0 if unknown. */
  readonly speed: number;
  /** The text shown on pointing at it. */
  readonly title: string;
}

export interface Place {
  readonly x: number;
  readonly y: number;
}

export const WIDTH = 360;
const HEIGHT = 300;
const MIDDLE: Place = { x: WIDTH / 2, y: HEIGHT / 2 - 2 };
const REACH = { x: 130, y: 108 };
const SVG = "http://www.w3.org/2000/svg";

/** Returns the place of each peer: this device at the bottom, the others around in the order of their ids. */
export function placesOf(dots: readonly DrawnPeer[]): ReadonlyMap<string, Place> {
  const others = dots.filter(({ mine }) => !mine).sort((a, b) => (a.client < b.client ? -1 : 1));
  const round = [...dots.filter(({ mine }) => mine), ...others];
  return new Map(
    round.map(({ client }, i) => {
      const angle = Math.PI / 2 + (2 * Math.PI * i) / round.length;
      return [client, { x: MIDDLE.x + REACH.x * Math.cos(angle), y: MIDDLE.y + REACH.y * Math.sin(angle) }];
    }),
  );
}

/** Returns the radius of a dot among this number of peers. */
export function radiusOf(count: number): number {
  return Math.max(4, Math.min(16, 120 / Math.max(1, count)));
}

/** Returns the width of a line with this traffic, in bytes per second. */
export function widthOf(speed: number): number {
  return 1.5 + Math.min(4.5, Math.log10(1 + speed / 10_000) * 1.8);
}

/** Returns the SVG's viewBox that holds the dots with their labels, without empty space above. */
export function frameOf(places: Iterable<Place>, radius: number): string {
  const heights = [...places].map(({ y }) => y);
  const [top, bottom] = [Math.min(MIDDLE.y, ...heights), Math.max(MIDDLE.y, ...heights)];
  const beside = radius + 28;
  return [0, top - beside, WIDTH, bottom - top + 2 * beside].map((side) => Math.round(side)).join(" ");
}

/** Replaces the content of `svg`. */
export function draw(svg: SVGSVGElement, dots: readonly DrawnPeer[], lines: readonly DrawnLink[]): void {
  const places = placesOf(dots);
  const radius = radiusOf(dots.length);
  const drawn = lines.flatMap((line) => {
    const [from, to] = line.ends.map((client) => places.get(client));
    return from && to ? [lineOf(line, from, to)] : [];
  });
  const marks = dots.map((dot) => markOf(dot, places.get(dot.client) ?? MIDDLE, radius, dots.length));
  svg.setAttribute("viewBox", frameOf(places.values(), radius));
  svg.replaceChildren(...drawn, ...marks);
}

function lineOf({ way, speed, title }: DrawnLink, from: Place, to: Place): SVGElement {
  const group = make("g", { class: "link", "data-way": way, ...(speed > 0 && { "data-flowing": "" }) });
  const ends = { x1: from.x, y1: from.y, x2: to.x, y2: to.y };
  group.append(titled(title), make("line", { ...ends, "stroke-width": widthOf(speed) }));
  return group;
}

function markOf(dot: DrawnPeer, { x, y }: Place, radius: number, count: number): SVGElement {
  const group = make("g", {
    class: "mesh-peer",
    "data-status": dot.status,
    ...(dot.mine && { "data-mine": "" }),
    ...(dot.grouped && { "data-grouped": "" }),
  });
  const halo = make("circle", { class: "halo", cx: x, cy: y, r: radius + 5 });
  const square = { x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius, rx: radius / 3 };
  const body = dot.kind === "peer" ? make("rect", square) : make("circle", { cx: x, cy: y, r: radius });
  group.append(titled(dot.label), halo, body);
  if (count <= 12) {
    // Labels are on the outer side, where there are no links.
    const beside = y < MIDDLE.y - 1 ? y - radius - 8 : y + radius + 16;
    const label = make("text", { x, y: beside, "text-anchor": "middle" });
    label.textContent = dot.label;
    group.append(label);
  }
  return group;
}

function titled(text: string): SVGElement {
  const title = make("title", {});
  title.textContent = text;
  return title;
}

function make(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, typeof value === "number" ? value.toFixed(1) : value);
  }
  return element;
}
