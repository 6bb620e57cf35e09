import { decimal, megabytes, number, percent } from "../../../formatting";
import { participantName } from "../../volunteers/participant-names";
import { _, ngettext } from "../gettext";

/** What stands on an owner's dashboard about another rule for kept updates. */
export const reaggregationWords = {
  none: "–",
  kept: (rounds: number, most: number, bytes: number) =>
    _("%(rounds)s of at most %(most)s rounds are kept (%(size)s).", {
      rounds: number(rounds),
      most: number(most),
      size: megabytes(bytes),
    }),
  waiting: _("Waits until another task's updates are aggregated."),
  running: (rule: string, done: number, planned: number) =>
    _("%(rule)s: %(done)s of %(planned)s rounds are done.", {
      rule,
      done: number(done),
      planned: number(planned),
    }),
  done: (rule: string, attackers: number) =>
    ngettext(
      "%(rule)s, made for %(count)s false update in a round:",
      "%(rule)s, made for %(count)s false updates in a round:",
      attackers,
      { rule },
    ),
  cancelled: _("Cancelled."),
  failed: (rule: string, reason: string) => _("%(rule)s failed. %(reason)s", { rule, reason }),
  number,
  accuracy: (share: number | undefined) => percent(share ?? null),
  loss: (loss: number | undefined) => (loss === undefined ? "–" : decimal(loss)),
  distance: (distance: number, relative: number | null) =>
    relative === null ? decimal(distance) : `${decimal(distance)} (${percent(relative)})`,
  clients: (clients: readonly string[]) =>
    clients.map((client) => `${participantName(client)} · ${client}`).join(", ") || "–",
} as const;
