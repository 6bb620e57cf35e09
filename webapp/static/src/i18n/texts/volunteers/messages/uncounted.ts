import { _, ngettext } from "../gettext";
import { listed } from "../lists";

/** What was found in earlier updates, after "in earlier rounds" (backend/server/rounds/reputations.py). */
const FOUND: Readonly<Record<string, string>> = {
  refused: _("they could not be used, or were longer than this task takes"),
  distance: _("they were several times as far from the others as usual"),
  direction: _("they pointed against those of most others"),
  repetition: _("they repeated earlier ones"),
  "left-out": _("the task’s rule left them out"),
};

/** A server's answer to an update that does not count; `reason` are its own words. */
export interface UncountedUpdate {
  readonly code: string;
  readonly found: readonly string[];
  readonly rounds: number;
  readonly reason: string;
}

/** Returns why updates do not count, and what it takes; the server's own words for what this page does not know. */
export function uncounted({ code, found, rounds, reason }: UncountedUpdate): string {
  if (code === "household") return household(rounds);
  const kinds = found.map((kind) => FOUND[kind]).filter((words) => words !== undefined);
  if (code !== "quarantine" || kinds.length < found.length) return reason;
  return quarantine(kinds.length === 0 ? _("they looked false") : listed(kinds), rounds);
}

function household(rounds: number): string {
  return ngettext(
    "Your updates do not count yet: updates from your network were found false, and this device is new here. They count after %(count)s round in which they are like those of others.",
    "Your updates do not count yet: updates from your network were found false, and this device is new here. They count after %(count)s rounds in which they are like those of others.",
    rounds,
  );
}

function quarantine(found: string, rounds: number): string {
  return ngettext(
    "Your updates do not count at present: in earlier rounds %(found)s. They are still compared, and count again after %(count)s round or more in which they are like those of others. If your device is honest, try another backend, or ask the task’s owner.",
    "Your updates do not count at present: in earlier rounds %(found)s. They are still compared, and count again after %(count)s rounds or more in which they are like those of others. If your device is honest, try another backend, or ask the task’s owner.",
    rounds,
    { found },
  );
}
