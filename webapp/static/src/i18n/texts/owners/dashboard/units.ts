import { number, percent, tenths } from "../../../formatting";
import { _, ngettext } from "../gettext";

const PHASES: Readonly<Record<string, (count: number) => string>> = {
  open: (count) => ngettext("%(count)s waiting", "%(count)s waiting", count),
  leased: (count) => ngettext("%(count)s at work", "%(count)s at work", count),
  compared: (count) => ngettext("%(count)s being compared", "%(count)s being compared", count),
  done: (count) => ngettext("%(count)s done", "%(count)s done", count),
  failed: (count) => ngettext("%(count)s given up", "%(count)s given up", count),
  dropped: (count) => ngettext("%(count)s not needed", "%(count)s not needed", count),
};

/** What stands on an owner's board of work units. */
export const say = {
  accuracy: _("Accuracy, mean of the epoch"),
  least: _("Lowest of the epoch"),
  most: _("Highest of the epoch"),
  epoch: _("Epoch"),
  none: "–",
  at: (done: number, all: number) => _("%(done)s of %(all)s", { done: number(done), all: number(all) }),
  /** Of shards of a model, a part may be overwritten. */
  results: (results: number) =>
    Number.isInteger(results)
      ? ngettext("%(count)s result", "%(count)s results", results)
      : _("%(amount)s results", { amount: tenths(results) }),
  clients: (here: number, atWork: number) =>
    _("%(here)s here, %(atWork)s at work", { here: number(here), atWork: number(atWork) }),
  /** T of the paper: places for units in all, and how many a client has. */
  slots: (slots: number, here: number) =>
    here === 0
      ? "–"
      : _("%(slots)s, %(each)s for each", { slots: number(slots), each: tenths(slots / here) }),
  servers: (count: number) => number(count),
  backlog: (count: number) => ngettext("%(count)s result waits", "%(count)s results wait", count),
  /** `counts`: results count on arrival, so that nobody has to be proven first. */
  trust: (proven: number, trusted: number, counts: boolean) => {
    if (counts) {
      return trusted === 0
        ? _("results count on arrival")
        : ngettext(
            "results count on arrival, %(count)s trusted peer",
            "results count on arrival, %(count)s trusted peers",
            trusted,
          );
    }
    return trusted === 0
      ? _("%(proven)s proven", { proven: number(proven) })
      : ngettext(
          "%(proven)s proven, %(count)s trusted peer",
          "%(proven)s proven, %(count)s trusted peers",
          trusted,
          { proven: number(proven) },
        );
  },
  /** `12 done, 3 at work`, of those that there are. */
  tally: (counts: readonly (readonly [string, number])[]) =>
    counts
      .filter(([, count]) => count > 0)
      .map(([phase, count]) => PHASES[phase]?.(count) ?? `${number(count)} ${phase}`)
      .join(", "),
  map: (shards: number, tally: string) =>
    ngettext("%(count)s shard; their units: %(tally)s", "%(count)s shards; their units: %(tally)s", shards, {
      tally,
    }),
  shards: (first: number, last: number) =>
    first === last
      ? _("Shard %(first)s", { first: number(first) })
      : _("Shards %(first)s to %(last)s", { first: number(first), last: number(last) }),
  cell: (shards: string, tally: string, leases: number) =>
    ngettext("%(shards)s: %(tally)s; %(count)s lease", "%(shards)s: %(tally)s; %(count)s leases", leases, {
      shards,
      tally,
    }),
  each: (shards: number) =>
    ngettext("A square stands for %(count)s shard.", "A square stands for %(count)s shards.", shards),
  stands: (one: { trusted: boolean; proven: boolean; doubted: boolean; held: number }, counts: boolean) => {
    if (one.trusted) return _("the owner’s");
    if (one.proven && !counts) return _("proven");
    if (one.doubted) return _("in doubt");
    if (counts) return _("counts on arrival");
    return one.held > 0 ? _("being checked") : _("newcomer");
  },
  row: (count: number) => number(count),
  today: (left: number, quota: number) =>
    _("%(left)s of %(quota)s", { left: number(left), quota: number(quota) }),
  work: (leases: number, slots: number, here: boolean) =>
    here ? _("%(leases)s of %(slots)s", { leases: number(leases), slots: number(slots) }) : _("away"),
  pace: (seconds: number | null) => (seconds === null || seconds <= 0 ? "–" : `${tenths(1 / seconds)} /s`),
  spread: ({ least, most, deviation }: { least: number; most: number; deviation: number }) =>
    _("%(least)s to %(most)s, ± %(deviation)s", {
      least: percent(least),
      most: percent(most),
      deviation: percent(deviation),
    }),
  staleness: (results: number) => tenths(results),
  /** Beside the head: what the task does now. */
  state: (phase: string, epoch: number, epochs: number) =>
    phase === "training"
      ? _("Epoch %(epoch)s of %(epochs)s", { epoch: number(epoch), epochs: number(epochs) })
      : "",
};
