/** The wizard's step `privacy`. */

import { decimal } from "../../formatting";
import { _, ngettext } from "./gettext";

const KEYS: Readonly<Record<string, string>> = {
  "coordination.min_available_clients": _("participants before a round begins"),
  "coordination.quorum": _("updates that make a version"),
  "coordination.min_train_clients": _("participants that are chosen at least"),
  "coordination.averaging.group_size": _("members of a group"),
  "security.masking.min_clients": _("updates that are masked together, at least"),
  "security.max_update_norm": _("the longest update that is taken"),
  "security.robust.rule": _("the robust rule"),
};

export interface ChangedEstimates {
  readonly key: string;
  readonly before: unknown;
  readonly after: unknown;
}

function changed({ key, after }: ChangedEstimates): string {
  const name = KEYS[key] ?? key;
  if (after === null && key === "security.robust.rule") return _("no robust rule");
  return after === null ? _("%(name)s: as usual", { name }) : `${name}: ${after}`;
}

export const say = {
  changes: (some: readonly ChangedEstimates[]) =>
    _("Choosing it also sets %(changes)s.", { changes: some.map(changed).join("; ") }),
  /** The title of a proposed alternative. */
  proposed: (title: string) => _("%(title)s (proposed)", { title }),
  refused: (why: string) => _("Not possible here: %(why)s", { why }),
  news: (count: number) =>
    ngettext(
      "One sentence is new since your last change.",
      "%(count)s sentences are new since your last change.",
      count,
    ),
  asking: _("Working it out; with noise this takes some seconds."),
  worth: (sentence: string) => _("After all planned rounds: %(sentence)s", { sentence }),
  needed: (noise: number, epsilon: number) =>
    _(
      "Noise of %(noise)s clips keeps somebody who is in every round at or below epsilon %(epsilon)s. It is taken.",
      { noise: decimal(noise), epsilon: decimal(epsilon) },
    ),
  notFound: _("The noise for that epsilon cannot be worked out here; change the other values first."),
};
