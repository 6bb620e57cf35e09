import { decimal, number, tenths } from "../../../formatting";
import { figures } from "../../volunteers/figures";
import { size } from "../figures";
import { _, ngettext } from "../gettext";

const STATES: Readonly<Record<string, string>> = {
  test: _("In a private test"),
  paused: _("Paused"),
  finished: _("Finished"),
  stopped: _("Stopped"),
  archived: _("Archived"),
};
const STATUSES: Readonly<Record<string, string>> = {
  loading: _("getting ready"),
  ready: _("ready"),
  training: _("training"),
  evaluating: _("measuring"),
  reported: _("done with its part"),
  refused: _("refused in this round"),
};
const DEVICES: Readonly<Record<string, string>> = {
  phone: _("phone"),
  laptop: _("laptop"),
  gpu: _("graphics card"),
};
const RUNNERS: Readonly<Record<string, string>> = { browser: _("browser"), peer: _("peer") };
const REFUSALS: Readonly<Record<string, string>> = {
  "bad-certificate": _("not signed by the peers that made the previous version"),
  "bad-examples": _("impossible count of examples or steps"),
  doubtful: _("nobody could tell whether it was right"),
  duplicate: _("offered twice"),
  invalid: _("different from others' results on the same examples"),
  "norm-too-large": _("change too large"),
  "not-finite": _("values not finite"),
  "false-shares": _("shares prevented unmasking a sum"),
  "not-masked": _("part of a masked round missing or wrong"),
  "not-selected": _("not chosen for the round"),
  over: _("too late to be checked"),
  // Only in records of earlier servers, which called a slow result of a work unit so.
  "slow-upload": _("sent too slowly"),
  "stale-round": _("too late"),
  "too-slow": _("sent too slowly"),
  "wrong-length": _("incomplete, or of another model"),
};
const ORDERS: Readonly<Record<string, string>> = {
  launch: _("Go live"),
  pause: _("Pause"),
  resume: _("Resume"),
  stop: _("Stop now"),
  archive: _("Archive"),
  restore: _("Restore"),
};
const QUESTIONS: Readonly<Record<string, string>> = {
  archive: _("Archive this task? Everybody is sent away, and nobody comes in until you restore it."),
};
const TREATMENTS: Readonly<Record<string, string>> = {
  remove: _("Send away"),
  ban: _("Keep out"),
  unban: _("Let in"),
  lift: _("Lift suspicion"),
};

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
  finish: _("Finish after this round"),
  stop: _("Stop now? The open round does not count. You can resume later."),
  finishing: (round) => _("Finishing: round %(round)s is the last", { round: number(round) }),
  pausing: (round) => _("Pausing: round %(round)s still ends", { round: number(round) }),
  training: (round) => _("Training round %(round)s", { round: number(round) }),
  next: _("The next round opens in a moment"),
  counted: (accepted, clients) =>
    _("%(accepted)s of %(clients)s", { accepted: number(accepted), clients: number(clients) }),
};
const EPOCHS: PassWords = {
  finish: _("Finish after this epoch"),
  stop: _(
    "Stop now? What is in the model becomes a version, and units under way do not count. You can resume later.",
  ),
  finishing: (epoch) => _("Finishing: epoch %(epoch)s is the last", { epoch: number(epoch) }),
  pausing: () => _("Pausing: units under way still count"),
  training: (epoch) => _("Working through epoch %(epoch)s", { epoch: number(epoch) }),
  next: _("The next epoch begins in a moment"),
  counted: (units, clients) =>
    _("%(units)s, by %(clients)s", { units: number(units), clients: number(clients) }),
};

function doing(words: PassWords, phase: string, round: number, needed: number): string {
  if (phase === "training") return words.training(round);
  if (phase === "aggregating") return _("Combining the updates of round %(round)s", { round: number(round) });
  if (phase === "evaluating") return _("Measuring the new version");
  if (needed === 0) return words.next;
  return ngettext(
    "Waiting for %(count)s more participant",
    "Waiting for %(count)s more participants",
    needed,
  );
}

/** What stands on an owner's dashboard. */
export const manage = {
  ofRounds: ROUNDS,
  ofEpochs: EPOCHS,
  acknowledge: _("Got it"),
  acknowledgeWhat: (text: string) => _("Got it: %(text)s", { text }),
  at: (at: string, text: string) => `${at}: ${text}`,
  away: _("The connection is lost. These figures are old; the page connects again by itself."),
  back: _("Go back"),
  backTo: (version: number) => _("Go back to version %(version)s", { version: number(version) }),
  banned: _("kept out"),
  best: (standing: string) => _("%(standing)s, the best", { standing }),
  /** After a change of the plan, which ends with this version. */
  extended: (last: number) => _("It trains on, up to version %(version)s.", { version: number(last) }),
  extendedLater: (last: number) =>
    _("It trains on, up to version %(version)s, when the open round ended.", { version: number(last) }),
  forking: _("The draft is being made…"),
  heldOut: _("Held-out loss"),
  highest: _("Clients’ 90th percentile"),
  lowest: _("Clients’ 10th percentile"),
  none: "–",
  training: _("Training loss"),
  bytes: (received: number, sent: number) =>
    _("%(received)s in, %(sent)s out", { received: size(received), sent: size(sent) }),
  energy: ([least, most]: readonly [number, number]) => {
    if (most === 0) return "–";
    if (most < 0.01) return _("below %(most)s Wh", { most: decimal(0.01) });
    const rounded = (hours: number) => (hours < 1 ? decimal(Math.round(100 * hours) / 100) : tenths(hours));
    return least < 0.01
      ? _("up to %(most)s Wh", { most: rounded(most) })
      : _("%(least)s to %(most)s Wh", { least: rounded(least), most: rounded(most) });
  },
  of: (count: number, all: number) => _("%(count)s of %(all)s", { count: number(count), all: number(all) }),
  order: (words: PassWords, order: string) => (order === "finish" ? words.finish : (ORDERS[order] ?? order)),
  outcome: (outcome: string, reason: string) =>
    outcome === "version" ? _("made a version") : _("made nothing: %(reason)s", { reason }),
  /** What is asked before a roll-back, in which `behind` versions would be left behind. */
  questionBack: (version: number, behind: number) =>
    ngettext(
      "Go back to version %(version)s? It becomes the newest version again, and %(count)s version made since is left behind: kept, but not trained on. A round that is open does not count.",
      "Go back to version %(version)s? It becomes the newest version again, and %(count)s versions made since are left behind: kept, but not trained on. A round that is open does not count.",
      behind,
      { version: number(version) },
    ),
  questionStartOver: (newest: number) =>
    _(
      "Start over from version 0? Versions up to %(version)s are left behind: kept, but not trained on. What participants gave away of their privacy stays counted.",
      { version: number(newest) },
    ),
  questionDelete: _("Delete this task for good? Nobody can bring it back."),
  /** What is asked before an order that many people feel; null where none is. */
  question: (words: PassWords, order: string) => (order === "stop" ? words.stop : (QUESTIONS[order] ?? null)),
  refusal: (code: string) => REFUSALS[code] ?? code,
  refused: (all: number, late: number) =>
    _("%(all)s, %(late)s late", { all: number(all), late: number(late) }),
  runner: (kind: string | null, backend: string | null, device: string | null) => {
    const what = kind === null ? _("unknown") : (RUNNERS[kind === "peer" ? "peer" : "browser"] ?? kind);
    if (!backend) return what;
    const by = `${what}, ${figures.backend(backend)}`;
    if (device === null) return by;
    return _("%(runner)s, like a %(device)s", { runner: by, device: DEVICES[device] ?? device });
  },
  /** Of a kind and backend, such as `browser webgpu`. */
  runnerOf: (words: string) => {
    const [kind = "", backend = ""] = words.split(" ");
    const what = RUNNERS[kind] ?? kind;
    return backend ? `${what}, ${figures.backend(backend)}` : what;
  },
  since: (at: string, text: string) => _("Since %(at)s: %(text)s", { at, text }),
  spread: (low: number, middle: number, high: number) =>
    _("%(middle)s (%(low)s to %(high)s)", {
      middle: decimal(middle),
      low: decimal(low),
      high: decimal(high),
    }),
  /** Where a version stands among all. */
  standing: ({ version, restores, left }: { version: number; restores: number | null; left: boolean }) => {
    if (restores !== null) {
      const names = { version: number(restores) };
      return left
        ? _("version %(version)s again, left behind", names)
        : _("version %(version)s again", names);
    }
    if (version === 0) return left ? _("the beginning, left behind") : _("the beginning");
    return left ? _("left behind") : _("trained");
  },
  state: (words: PassWords, state: string, phase: string, round: number, needed: number): string => {
    if (state === "finishing") return words.finishing(round);
    if (state === "paused" && phase !== "paused") return words.pausing(round);
    const named = STATES[state];
    if (named !== undefined && state !== "test") return named;
    const now = doing(words, phase, round, needed);
    return named === undefined ? now : `${named}. ${now}`;
  },
  status: (status: string | null) => (status === null ? _("away") : (STATUSES[status] ?? status)),
  treat: (act: string) => TREATMENTS[act] ?? act,
  treatWhom: (act: string, client: string) => `${TREATMENTS[act] ?? act}: ${client}`,
  wentBack: (version: number) => _("Version %(version)s is the newest again.", { version: number(version) }),
  until: (at: string, end: string, text: string) => _("%(at)s to %(end)s: %(text)s", { at, end, text }),
};
