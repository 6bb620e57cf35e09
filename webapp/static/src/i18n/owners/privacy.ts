/** The wizard's step `privacy`. */

const KEYS: Readonly<Record<string, string>> = {
  "coordination.min_available_clients": "participants before a round begins",
  "coordination.quorum": "updates that make a version",
  "coordination.min_train_clients": "participants that are chosen at least",
  "coordination.averaging.group_size": "members of a group",
  "security.masking.min_clients": "updates that are masked together, at least",
  "security.max_update_norm": "the longest update that is taken",
};

export interface ChangedEstimates {
  readonly key: string;
  readonly before: unknown;
  readonly after: unknown;
}

function changed({ key, after }: ChangedEstimates): string {
  const name = KEYS[key] ?? key;
  return after === null ? `${name}: as usual` : `${name}: ${after}`;
}

export const say = {
  changes: (some: readonly ChangedEstimates[]) => `Choosing it also sets ${some.map(changed).join("; ")}.`,
  refused: (why: string) => `Not possible here: ${why}`,
  news: (count: number) =>
    count === 1
      ? "One sentence is new since your last change."
      : `${count} sentences are new since your last change.`,
  asking: "Working it out; with noise this takes some seconds.",
  worth: (sentence: string) => `After all planned rounds: ${sentence}`,
  needed: (noise: number, epsilon: number) =>
    `Noise of ${noise} clips keeps somebody who is in every round at or below epsilon ${epsilon}. It is taken.`,
  notFound: "The noise for that epsilon cannot be worked out here; change the other values first.",
};
