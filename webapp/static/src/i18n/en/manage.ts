import { counted, decimal, number, tenths } from "../formatting";
import { figures } from "./figures";

const STATES: Readonly<Record<string, string>> = {
  test: "In a private test",
  paused: "Paused",
  finished: "Finished",
  stopped: "Stopped",
  archived: "Archived",
};
const STATUSES: Readonly<Record<string, string>> = {
  loading: "getting ready",
  ready: "ready",
  training: "training",
  evaluating: "measuring",
  reported: "done with its part",
  refused: "refused in this round",
};
const DEVICES: Readonly<Record<string, string>> = { phone: "phone", laptop: "laptop", gpu: "graphics card" };
const REFUSALS: Readonly<Record<string, string>> = {
  "bad-certificate": "not signed by the peers that made the version before",
  "bad-examples": "impossible count of examples or steps",
  doubtful: "nobody could tell whether it was right",
  duplicate: "offered twice",
  invalid: "unlike what others made of the same examples",
  "norm-too-large": "change too large",
  "not-finite": "values not finite",
  "false-shares": "shares kept a masked sum from being read",
  "not-masked": "part of a masked round missing or wrong",
  "not-selected": "not chosen for the round",
  over: "too late to be looked at",
  // Only in records of earlier servers, which called a slow result of a work unit so.
  "slow-upload": "sent too slowly",
  "stale-round": "too late",
  "too-slow": "sent too slowly",
  "wrong-length": "incomplete, or of another model",
};
const ORDERS: Readonly<Record<string, string>> = {
  launch: "Go live",
  pause: "Pause",
  resume: "Resume",
  stop: "Stop now",
  archive: "Archive",
  restore: "Restore",
};
const QUESTIONS: Readonly<Record<string, string>> = {
  archive: "Archive this task? Everybody is sent away, and nobody comes in until you restore it.",
};
const TREATMENTS: Readonly<Record<string, string>> = {
  remove: "Send away",
  ban: "Keep out",
  unban: "Let in",
};

function size(bytes: number): string {
  if (bytes < 1e3) return counted(bytes, "byte", "bytes");
  if (bytes < 1e6) return `${tenths(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${tenths(bytes / 1e6)} MB` : `${tenths(bytes / 1e9)} GB`;
}

/** What is said of rounds, and of the epochs of a task of work units. */
export interface PassWords {
  readonly finish: string;
  readonly stop: string;
  readonly finishing: (pass: number) => string;
  readonly pausing: (pass: number) => string;
  readonly training: (pass: number) => string;
  readonly next: string;
  /** Of a pass that is over: updates or units that count, and how many took part. */
  readonly counted: (accepted: number, clients: number) => string;
}
const ROUNDS: PassWords = {
  finish: "Finish after this round",
  stop: "Stop now? The open round does not count. You can resume later.",
  finishing: (round) => `Finishing: round ${number(round)} is the last`,
  pausing: (round) => `Pausing: round ${number(round)} still ends`,
  training: (round) => `Training round ${number(round)}`,
  next: "The next round opens in a moment",
  counted: (accepted, clients) => `${number(accepted)} of ${number(clients)}`,
};
const EPOCHS: PassWords = {
  finish: "Finish after this epoch",
  stop: "Stop now? What is in the model becomes a version, and units under way do not count. You can resume later.",
  finishing: (epoch) => `Finishing: epoch ${number(epoch)} is the last`,
  pausing: () => "Pausing: units under way still count",
  training: (epoch) => `Working through epoch ${number(epoch)}`,
  next: "The next epoch begins in a moment",
  counted: (units, clients) => `${number(units)}, by ${number(clients)}`,
};

/** What stands on an owner's dashboard. */
export const manage = {
  ofRounds: ROUNDS,
  ofEpochs: EPOCHS,
  acknowledge: "Got it",
  acknowledgeWhat: (text: string) => `Got it: ${text}`,
  at: (at: string, text: string) => `${at}: ${text}`,
  away: "The connection is lost. These figures are old; the page connects again by itself.",
  back: "Go back",
  backTo: (version: number) => `Go back to version ${number(version)}`,
  banned: "kept out",
  heldOut: "Held-out loss",
  highest: "Clients’ 90th percentile",
  lowest: "Clients’ 10th percentile",
  none: "–",
  training: "Training loss",
  bytes: (received: number, sent: number) => `${size(received)} in, ${size(sent)} out`,
  energy: ([least, most]: readonly [number, number]) => {
    if (most === 0) return "–";
    if (most < 0.01) return `below ${decimal(0.01)} Wh`;
    const rounded = (hours: number) => (hours < 1 ? decimal(Math.round(100 * hours) / 100) : tenths(hours));
    return least < 0.01 ? `up to ${rounded(most)} Wh` : `${rounded(least)} to ${rounded(most)} Wh`;
  },
  of: (count: number, all: number) => `${number(count)} of ${number(all)}`,
  order: (words: PassWords, order: string) => (order === "finish" ? words.finish : (ORDERS[order] ?? order)),
  outcome: (outcome: string, reason: string) =>
    outcome === "version" ? "made a version" : `made nothing: ${reason}`,
  /** What is asked before a roll-back, in which `behind` versions would be left behind. */
  questionBack: (version: number, behind: number) =>
    `Go back to version ${number(version)}? It becomes the newest version again, and ` +
    `${counted(behind, "version")} made since ${behind === 1 ? "is" : "are"} left behind: kept, but not trained on. ` +
    "A round that is open does not count.",
  questionDelete: "Delete this task for good? Nobody can bring it back.",
  /** What is asked before an order that many people feel; null where none is. */
  question: (words: PassWords, order: string) => (order === "stop" ? words.stop : (QUESTIONS[order] ?? null)),
  refusal: (code: string) => REFUSALS[code] ?? code,
  refused: (all: number, late: number) => `${number(all)}, ${number(late)} late`,
  runner: (kind: string | null, backend: string | null, device: string | null) => {
    const what = kind === "peer" ? "peer" : kind === null ? "unknown" : "browser";
    const like = device === null ? "" : `, like a ${DEVICES[device] ?? device}`;
    return backend ? `${what}, ${figures.backend(backend)}${like}` : what;
  },
  /** Of a kind and backend, such as `browser webgpu`. */
  runnerOf: (words: string) => {
    const [kind = "", backend = ""] = words.split(" ");
    return backend ? `${kind}, ${figures.backend(backend)}` : kind;
  },
  since: (at: string, text: string) => `Since ${at}: ${text}`,
  spread: (low: number, middle: number, high: number) =>
    `${decimal(middle)} (${decimal(low)} to ${decimal(high)})`,
  /** Where a version stands among all. */
  standing: ({ version, restores, left }: { version: number; restores: number | null; left: boolean }) => {
    const is = restores !== null ? `version ${number(restores)} again` : version === 0 ? "the beginning" : "";
    if (!left) return is || "trained";
    return is ? `${is}, left behind` : "left behind";
  },
  state: (words: PassWords, state: string, phase: string, round: number, needed: number) => {
    if (state === "finishing") return words.finishing(round);
    if (state === "paused" && phase !== "paused") return words.pausing(round);
    const named = STATES[state];
    if (named !== undefined && state !== "test") return named;
    const prefix = named === undefined ? "" : `${named}. `;
    if (phase === "training") return `${prefix}${words.training(round)}`;
    if (phase === "aggregating") return `${prefix}Putting round ${number(round)} together`;
    if (phase === "evaluating") return `${prefix}Measuring the new version`;
    return needed > 0
      ? `${prefix}Waiting for ${counted(needed, "more participant", "more participants")}`
      : `${prefix}${words.next}`;
  },
  status: (status: string | null) => (status === null ? "away" : (STATUSES[status] ?? status)),
  treat: (act: string) => TREATMENTS[act] ?? act,
  treatWhom: (act: string, client: string) => `${TREATMENTS[act] ?? act}: ${client}`,
  wentBack: (version: number) => `Version ${number(version)} is the newest again.`,
  until: (at: string, end: string, text: string) => `${at} to ${end}: ${text}`,
};
