/** Converts what members that check each other agreed on to rows of text. Pure. */

import { memberWords } from "../../../i18n/texts/owners/dashboard/members";
import { participantName } from "../../../i18n/texts/volunteers/participant-names";
import { auditsNeeded } from "../../../protocol/mesh/byzantine/membership";
import type { TextRow } from "../tables";

/** The server's newest agreed state (docs/reference/http.md, A mesh). */
export interface MeshAgreement {
  readonly round: number;
  readonly radius: number | null;
  readonly seats: readonly ShownSeat[];
  readonly newcomers: readonly ShownNewcomer[];
  readonly banned: readonly string[];
  readonly court: readonly ShownWorkCase[];
  readonly doubtful: readonly ShownWorkCase[];
  readonly suspected: readonly ShownWorkCase[];
  readonly validating: readonly ShownWorkCase[];
}

export interface ShownSeat {
  readonly client: string;
  readonly absences: readonly number[];
  readonly rests_until: number | null;
  /** It could not check others' work, and may be drawn to do so from this round on; null: it may be drawn. */
  readonly checks_from: number | null;
}

export interface ShownNewcomer {
  readonly client: string;
  readonly rounds: number;
  readonly audits: number;
}

export interface ShownWorkCase {
  readonly target: string;
  readonly round: number;
  readonly validator: string | null;
  readonly second: string | null;
}

/** Rounds, and members that find a newcomer's work right, that earn a seat. */
export interface SeatTerms {
  readonly probation: number;
  readonly audits: number;
}

export interface MembersStatus {
  readonly text: string;
  readonly warns: boolean;
}

/** Digits of a public key that tell it from others. */
const SHORT = 16;

/** Returns the figures at the top, in their order. */
export function memberFigures(state: MeshAgreement | null): TextRow {
  if (state === null) return Array.from({ length: 6 }, () => memberWords.none);
  return [
    memberWords.count(state.round),
    memberWords.count(state.seats.length),
    memberWords.count(restingOf(state)),
    memberWords.count(state.newcomers.length),
    memberWords.count(state.banned.length),
    memberWords.radius(state.radius),
  ];
}

/** Says how many seats take part in the next round; warns when more than a third rest, or cannot check others. */
export function membersStatus(state: MeshAgreement | null): MembersStatus {
  if (state === null) return { text: memberWords.unknown, warns: false };
  const [seats, resting] = [state.seats.length, restingOf(state)];
  const present = seats - resting;
  const enough = Math.floor(present / 2) + 1;
  const unable = state.seats.filter((one) => one.checks_from !== null).length;
  const warnings = [
    3 * resting > seats && memberWords.resting(resting, seats, enough),
    3 * unable > seats && memberWords.unable(unable, seats),
  ].filter((one) => one !== false);
  if (warnings.length > 0) return { text: warnings.join(" "), warns: true };
  return { text: memberWords.present(state.round + 1, present, seats, enough), warns: false };
}

/** Returns the rows of members with a seat, then those of newcomers. */
export function memberRows(state: MeshAgreement, terms: SeatTerms): TextRow[] {
  const seats = state.seats.map(
    (one): TextRow => [
      nameOf(one.client),
      memberWords.seat(one.absences.length),
      dutyOf(one, state),
      doubtsOf(one.client, state),
    ],
  );
  const needed = auditsNeeded(state.seats.length, terms.audits);
  const newcomers = state.newcomers.map(
    ({ client, rounds, audits }): TextRow => [
      nameOf(client),
      memberWords.probation(
        Math.min(rounds, terms.probation),
        terms.probation,
        Math.min(audits, needed),
        needed,
      ),
      memberWords.works,
      doubtsOf(client, state),
    ],
  );
  return [...seats, ...newcomers];
}

/** `3b6a27bcceb6a42d…` */
export function shortKey(key: string): string {
  return `${key.slice(0, SHORT)}…`;
}

function nameOf(client: string): string {
  return `${participantName(client)} · ${client}`;
}

function restingOf({ seats }: MeshAgreement): number {
  return seats.filter((one) => one.rests_until !== null).length;
}

function dutyOf(
  { client, absences, rests_until, checks_from }: ShownSeat,
  { round, validating }: MeshAgreement,
): string {
  if (rests_until !== null) return memberWords.rests(rests_until, absences.at(-1) ?? 0);
  const check = validating.find((one) => one.validator === client);
  if (check === undefined)
    return checks_from === null ? memberWords.works : memberWords.onlyWorks(checks_from);
  const target = nameOf(check.target);
  return check.round === round
    ? memberWords.validates(target)
    : memberWords.validatesAgain(target, check.round);
}

function doubtsOf(client: string, { court, doubtful, suspected }: MeshAgreement): string {
  const ofClient = ({ target }: ShownWorkCase) => target === client;
  const found = [
    ...court.filter(ofClient).map(courtWords),
    ...suspected
      .filter(ofClient)
      .map(({ round, validator }) => memberWords.suspected(nameOf(validator ?? ""), round)),
    ...doubtful.filter(ofClient).map(({ round }) => memberWords.doubtful(round)),
  ];
  return found.join("; ") || memberWords.none;
}

function courtWords({ round, validator, second }: ShownWorkCase): string {
  if (validator === null) return memberWords.hidden(round);
  if (second === null) return memberWords.accused(nameOf(validator), round);
  return memberWords.disputed(nameOf(validator), nameOf(second), round);
}
