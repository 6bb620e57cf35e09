/** The frames of a dashboard's socket (docs/reference/http.md, A dashboard). */

export interface DashboardParticipant {
  readonly client: string;
  readonly kind: string | null;
  readonly backend: string | null;
  readonly device: string | null;
  readonly status: string | null;
  readonly accepted: number;
  readonly refused: number;
  readonly late: number;
  readonly examples: number;
  readonly sent: number;
  readonly received: number;
  readonly banned: string | null;
}

export interface Alert {
  readonly id: number;
  readonly trouble: string;
  readonly text: string;
  readonly at: number;
  readonly cleared: number | null;
  readonly acknowledged: number | null;
}

/** Refused updates of ended rounds; `at` is the beginning of their hour in Unix seconds. */
export interface RefusalHour {
  readonly at: number;
  readonly refusals: Counts;
}

/** How many false ones of `updates` in a round the settings bear, and how many clients that lie repeatedly. */
export interface Tolerance {
  readonly updates: number;
  /** The masked groups whose sums are compared; 0 where single updates are. */
  readonly groups: number;
  /** Empty for the mean. */
  readonly rule: string;
  readonly attackers: number;
  readonly repeated: number;
}

export interface JudgedRound {
  readonly round: number;
  /** The suspicion after it by the limit, at most 2. */
  readonly share: number;
  /** The strength of each kind, 0 to 1. */
  readonly evidence: Counts;
  readonly counted: boolean;
}

/** A participant whose updates look false; `share` is its suspicion by the limit, at most 1. */
export interface Suspect {
  readonly client: string;
  readonly share: number;
  readonly quarantined: boolean;
  /** Rounds in which its updates do not count at least. */
  readonly left: number;
  readonly counts: boolean;
  readonly reasons: readonly string[];
  readonly timeline: readonly JudgedRound[];
}

export type Counts = Readonly<Record<string, number>>;

export interface DashboardNow {
  readonly type: "now";
  readonly state: string;
  readonly reason: string;
  readonly orders: readonly string[];
  readonly phase: string;
  readonly round: number;
  readonly version: number;
  readonly rounds: number;
  readonly needed: number;
  readonly here: number;
  readonly received: number;
  readonly sent: number;
  readonly carried: number;
  readonly totals: {
    readonly accepted: number;
    readonly examples: number;
    readonly watt_hours: readonly [number, number];
    readonly refusals: Counts;
    readonly backends: Counts;
  };
  readonly alerts: readonly Alert[];
  readonly undelivered: string | null;
  readonly participants: readonly DashboardParticipant[];
  /** Null where nothing bounds false updates. */
  readonly tolerance: Tolerance | null;
  /** Null without reputation. */
  readonly suspects: readonly Suspect[] | null;
}

export interface DashboardRound {
  readonly round: number;
  readonly cohort: number;
  readonly accepted: number;
  readonly refused: number;
  readonly outcome: string;
  readonly reason: string;
  readonly seconds: number;
  readonly ended: number;
  readonly losses: Counts;
}

export interface VersionPoint {
  readonly version: number;
  readonly round: number;
  readonly created: number;
  /** Whether the version's weights are stored. */
  readonly kept: boolean;
  /** The earlier version that it restores; null for one that was trained. */
  readonly restores: number | null;
  /** Whether a roll-back abandoned it. */
  readonly left: boolean;
  readonly training_loss: number | null;
  readonly loss: number | null;
  readonly metrics: Readonly<Record<string, number | null>>;
}

/** A part of a check's score; null where it could not be measured. */
export interface CheckPart {
  readonly name: string;
  readonly score: number | null;
  readonly reason: string;
}

/** A version's check for signs of a backdoor; `accepted` is when the owner accepted it in spite of that. */
export interface VersionCheck {
  readonly version: number;
  readonly outcome: string;
  readonly score: number | null;
  readonly parts: readonly CheckPart[];
  readonly accepted: number | null;
}

export interface IntegrityReport {
  readonly offered: number;
  readonly waiting: readonly number[];
  /** The check on which the owner has to decide. */
  readonly question: VersionCheck | null;
  readonly checks: readonly VersionCheck[];
}

export interface DashboardHistory {
  readonly type: "history";
  readonly rounds: readonly DashboardRound[];
  readonly curve: readonly VersionPoint[];
  readonly refusals: readonly RefusalHour[];
  /** The best version on held-out examples; null if none was measured. */
  readonly best: number | null;
  /** Null where versions are not checked. */
  readonly integrity: IntegrityReport | null;
}

/** The person may no longer watch. */
export interface DashboardEnded {
  readonly type: "ended";
  readonly reason: string;
}

export type DashboardFrame = DashboardNow | DashboardHistory;
