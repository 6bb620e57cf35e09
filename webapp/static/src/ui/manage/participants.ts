/** The table of participants on the dashboard, with buttons that remove them. */

import { manage } from "../../i18n/texts/owners/dashboard/manage";
import { requestJson, showRefusal } from "../lib/api";
import { makeButton } from "../lib/button";
import { setChildren } from "../lib/dom";
import type { DashboardParticipant } from "./frames";
import { fillRow } from "./rows";
import { participantRow } from "./tables";

/** What the table needs from its page. */
export interface ParticipantTable {
  readonly body: HTMLElement;
  readonly task: string;
  /** Whether this account may remove participants. */
  readonly mayLead: boolean;
  /** The element for refusals. */
  readonly problem: HTMLElement;
}

/** Shows `participants`; rows that stay keep their place and focus. */
export function showParticipants(
  table: ParticipantTable,
  participants: readonly DashboardParticipant[],
): void {
  const { body, mayLead } = table;
  const rows = new Map([...body.querySelectorAll("tr")].map((row) => [row.dataset.client, row]));
  setChildren(
    body,
    participants.map((one) => {
      const row = rows.get(one.client) ?? newRow(one.client);
      fillRow(row, participantRow(one));
      if (mayLead) showActions(table, row, one);
      return row;
    }),
  );
}

function newRow(client: string): HTMLTableRowElement {
  const row = document.createElement("tr");
  row.dataset.client = client;
  return row;
}

function showActions(
  { task, problem }: ParticipantTable,
  row: HTMLTableRowElement,
  one: DashboardParticipant,
): void {
  const acts = one.banned !== null ? ["unban"] : one.status === null ? ["ban"] : ["remove", "ban"];
  if (row.dataset.acts === acts.join(" ")) return;
  row.dataset.acts = acts.join(" ");
  row.querySelector("[data-treat]")?.remove();
  const cell = document.createElement("td");
  cell.dataset.treat = "";
  const address = `/api/tasks/${task}/participants/${one.client}`;
  cell.append(
    ...acts.map((act) =>
      makeButton(
        manage.treat(act),
        () => void showRefusal(problem, async () => void (await requestJson("POST", address, { act }))),
        manage.treatWhom(act, one.client),
      ),
    ),
  );
  row.append(cell);
}
