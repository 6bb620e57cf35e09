/** The list of current participants. */

import { say } from "../../i18n";
import { number } from "../../i18n/formatting";
import { participantName } from "../../i18n/texts/volunteers/participant-names";
import type { Participant } from "../../protocol/wire/messages";
import { requireElement, setText } from "../lib/dom";

/** Shows `participants`; the one whose id is `me` is marked. */
export function showParticipantList(
  root: HTMLElement,
  participants: readonly Participant[] | null,
  me: string | null,
): void {
  const rows = (participants ?? []).map((one) => row(one, one.client === me));
  requireElement(root, "people").replaceChildren(...rows);
  setText(requireElement(root, "people-count"), participants ? number(rows.length) : "");
  requireElement(root, "people-none").hidden = rows.length > 0;
}

function row(one: Participant, mine: boolean): HTMLLIElement {
  const item = document.createElement("li");
  item.dataset.status = one.status;
  item.classList.toggle("me", mine);
  const dot = document.createElement("span");
  dot.className = "dot";
  const who = document.createElement("span");
  const kind = one.kind === "peer" ? say.people.peer : say.people.browser;
  const name = participantName(one.client);
  const runs = `${kind}, ${say.figures.backend(one.backend)}`;
  who.textContent = `${mine ? say.people.yourself(name) : name} · ${runs}`;
  who.title = one.client;
  const does = document.createElement("span");
  does.textContent = `${say.people.doing[one.status]} · ${say.people.updates(one.accepted)}`;
  item.append(dot, who, does);
  return item;
}
