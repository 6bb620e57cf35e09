/** Computes the picture and the list of links of a mesh. Pure: everything shown is an argument. */

import type { MeshView } from "../../../client/mesh/view";
import { say } from "../../../i18n";
import { milliseconds, tenths } from "../../../i18n/formatting";
import { participantName } from "../../../i18n/texts/volunteers/participant-names";
import type { Way } from "../../../protocol/wire/mesh";
import type { DrawnLink, DrawnPeer } from "./picture";

/** A link between two peers as they reported it to the server. */
export interface ReportedLink {
  readonly ends: readonly [string, string];
  readonly way: Way;
  readonly seconds: number;
  readonly rate: number;
}

/** One of this device's links, for the list. */
export interface LinkRow {
  readonly client: string;
  readonly name: string;
  readonly way: Way | null;
  readonly how: string;
  readonly figures: string;
}

const mesh = say.mesh;
const people = say.people;

/** `1.2 MB/s`, `12 kB/s`. */
export function speedOf(bytesPerSecond: number): string {
  if (bytesPerSecond >= 1e6) return `${tenths(bytesPerSecond / 1e6)} MB/s`;
  return `${Math.round(bytesPerSecond / 1000)} kB/s`;
}

/** Returns the peers of the mesh; none before the server sent them. */
export function dotsOf(view: MeshView): readonly DrawnPeer[] {
  const me = view.machine.entered?.client ?? null;
  const grouped = new Set(view.machine.inHand.group?.members ?? []);
  const doing = new Map(view.task?.participants.map(({ client, status }) => [client, status]));
  return view.members.map(({ client, kind, backend }) => ({
    client,
    kind,
    label: client === me ? people.you : `${say.figures.backend(backend)} ${client.slice(0, 4)}`,
    mine: client === me,
    grouped: grouped.has(client),
    status: doing.get(client) ?? "ready",
  }));
}

/** Returns this device's links with their traffic, then those that the others reported. */
export function linesOf(
  view: MeshView,
  reported: readonly ReportedLink[],
  speed: (client: string) => number,
): readonly DrawnLink[] {
  const me = view.machine.entered?.client;
  if (me === undefined) return [];
  const own = view.links.flatMap(({ client, way }): readonly DrawnLink[] =>
    way === null
      ? []
      : [{ ends: [me, client], way, speed: speed(client), title: titleOf(mesh.how[way], speed(client)) }],
  );
  const others = reported
    .filter(({ ends }) => !ends.includes(me))
    .map(({ ends, way }): DrawnLink => ({ ends, way, speed: 0, title: mesh.how[way] }));
  return [...others, ...own];
}

function titleOf(how: string, speed: number): string {
  return speed > 0 ? `${how}, ${speedOf(speed)}` : how;
}

/** Returns this device's links, the best known first. */
export function rowsOf(view: MeshView, speed: (client: string) => number): readonly LinkRow[] {
  const kinds = new Map(view.members.map((one) => [one.client, one]));
  return view.links
    .filter(({ client, way }) => way !== null || kinds.has(client))
    .map(({ client, way, seconds, rate }) => {
      const kind = kinds.get(client);
      const figures = [
        seconds > 0 ? milliseconds(1000 * seconds) : "",
        speed(client) > 0 ? speedOf(speed(client)) : rate > 0 ? mesh.upTo(speedOf(rate)) : "",
      ];
      return {
        client,
        name: kind ? `${participantName(client)} · ${kindOf(kind)}` : participantName(client),
        way,
        how: way === null ? mesh.noLink : mesh.how[way],
        figures: figures.filter(Boolean).join(" · "),
      };
    });
}

function kindOf({ kind, backend }: MeshView["members"][number]): string {
  return `${kind === "peer" ? people.peer : people.browser} · ${say.figures.backend(backend)}`;
}

/** Returns one sentence on all links, for those who do not see the picture. */
export function summaryOf(view: MeshView): string {
  const standing = view.links.filter(({ way }) => way !== null);
  // A link may outlive its peer's connection to the server.
  const clients = new Set([...view.members, ...standing].map(({ client }) => client));
  clients.delete(view.machine.entered?.client ?? "");
  if (clients.size === 0) return withoutPeers(view);
  const relayed = standing.filter(({ way }) => way === "relay").length;
  const line =
    relayed > 0
      ? mesh.linkedThrough(standing.length, clients.size, relayed)
      : mesh.linked(standing.length, clients.size);
  return view.strangers.length > 0 ? `${line} ${mesh.strangers(view.strangers.length)}` : line;
}

function withoutPeers({ machine }: MeshView): string {
  if (machine.entered === null || machine.connection.state === "closed") return mesh.startToSee;
  return machine.averaged > 0 ? mesh.othersLeft : mesh.nobodyElse;
}
