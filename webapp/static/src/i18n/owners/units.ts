import { counted, decimal, number, percent, tenths } from "../formatting";

const PHASES: Readonly<Record<string, string>> = {
  open: "waiting",
  leased: "at work",
  compared: "being compared",
  done: "done",
  over: "given up",
};

/** What stands on an owner's board of work units. */
export const say = {
  accuracy: "Accuracy, mean of the epoch",
  least: "Lowest of the epoch",
  most: "Highest of the epoch",
  epoch: "Epoch",
  none: "–",
  at: (done: number, all: number) => `${number(done)} of ${number(all)}`,
  base: (results: number) => counted(results, "result", "results"),
  clients: (here: number, atWork: number) => `${number(here)} here, ${number(atWork)} at work`,
  /** T of the paper: places for units in all, and how many a client has. */
  slots: (slots: number, here: number) =>
    here === 0 ? "–" : `${number(slots)}, ${tenths(slots / here)} for each`,
  servers: (count: number) => number(count),
  backlog: (count: number) => counted(count, "result waits", "results wait"),
  lost: (lost: number) => decimal(lost),
  trust: (proven: number, trusted: number) =>
    trusted === 0
      ? `${number(proven)} proven`
      : `${number(proven)} proven, ${counted(trusted, "trusted peer", "trusted peers")}`,
  phase: (phase: string) => PHASES[phase] ?? phase,
  /** `12 done, 3 at work`, of those that there are. */
  tally: (counts: readonly (readonly [string, number])[]) =>
    counts
      .filter(([, count]) => count > 0)
      .map(([phase, count]) => `${number(count)} ${PHASES[phase] ?? phase}`)
      .join(", "),
  map: (shards: number, tally: string) => `${counted(shards, "shard", "shards")}; their units: ${tally}`,
  shards: (first: number, last: number) =>
    first === last ? `Shard ${number(first)}` : `Shards ${number(first)} to ${number(last)}`,
  cell: (shards: string, tally: string, leases: number) =>
    `${shards}: ${tally}; ${counted(leases, "lease", "leases")}`,
  each: (shards: number) => `A square stands for ${number(shards)} shards.`,
  stands: (one: { trusted: boolean; proven: boolean; held: number }) => {
    if (one.trusted) return "the owner’s";
    return one.proven ? "proven" : one.held > 0 ? "being checked" : "newcomer, or in doubt";
  },
  row: (count: number) => number(count),
  today: (left: number, quota: number) => `${number(left)} of ${number(quota)}`,
  work: (leases: number, slots: number, here: boolean) =>
    here ? `${number(leases)} of ${number(slots)}` : "away",
  pace: (seconds: number | null) => (seconds === null || seconds <= 0 ? "–" : `${tenths(1 / seconds)} /s`),
  spread: ({ least, most, deviation }: { least: number; most: number; deviation: number }) =>
    `${percent(least)} to ${percent(most)}, ± ${percent(deviation)}`,
  staleness: (results: number) => tenths(results),
  /** Beside the head: what the task does now. */
  state: (phase: string, epoch: number, epochs: number) =>
    phase === "training" ? `Epoch ${number(epoch)} of ${number(epochs)}` : "",
};
