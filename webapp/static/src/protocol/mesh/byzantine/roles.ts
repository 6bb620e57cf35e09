/**
 * Who does what in a turn of a Byzantine round, as the last state and its coin say. The twin is
 * backend/protocols/mesh/byzantine/roles.py.
 */

import { fromHex, integer, utf8 } from "../../../core/crypto/bytes";
import { hashFields } from "../../../core/crypto/hash";
import { drawnOrder, validations } from "./drawn-work";
import { present } from "./membership";
import { type AgreedState, stateDigest, type WorkCase } from "./state";

/**
 * The clients of a turn, ordered; the owner of part k is `workers[k]`. `seated` members are as many as the state has
 * present, of which more than half decide; `active` are those not yet removed. `audits` has the work that each
 * validator judges instead of working itself.
 */
export interface TurnRoles {
  readonly seated: readonly string[];
  readonly active: readonly string[];
  readonly workers: readonly string[];
  readonly audits: ReadonlyMap<string, WorkCase>;
}

/** Whether so many are more than half of all seated. */
export function isMajority({ seated }: TurnRoles, count: number): boolean {
  return 2 * count > seated.length;
}

/** A mean of one worker's piece alone is that piece, however far it is. */
const LEAST_WORKERS = 2;

/** Returns the roles in the round after `state`, once the members in `without` are removed. */
export function rolesOf(
  state: AgreedState,
  validators: number,
  without: ReadonlyMap<string, unknown> = new Map(),
): TurnRoles {
  const seated = present(state.membership, state.round + 1);
  const worked = new Set(state.works.map(({ client }) => client));
  const seatedWorkers = seated.filter((one) => worked.has(one));
  const audits = new Map<string, WorkCase>();
  const unable = new Set(state.unable.map(({ client }) => client));
  for (const [validator, target] of validations(state.coin, seated, seatedWorkers, validators, unable))
    audits.set(validator, caseOf(target, state.round, validator));
  const newcomers = [...worked].filter((one) => !seated.includes(one));
  const further = drawnOrder(state.coin, "newcomer", newcomers)
    .slice(0, 1)
    .map((target) => caseOf(target, state.round, ""));
  const leastLeft = Math.max(seated.length >> 1, LEAST_WORKERS);
  const able = drawnOrder(state.coin, "further", seated).filter((one) => !unable.has(one));
  for (const { target, round, validator: before } of [...state.suspected, ...further, ...state.doubtful]) {
    const validator = able.find((one) => !audits.has(one) && one !== target && one !== before);
    if (validators > 0 && seated.length - audits.size > leastLeft && validator !== undefined)
      audits.set(validator, caseOf(target, round, validator));
  }
  const [next] = [...state.suspected, ...(state.round % 2 === 1 ? further : [])];
  const judge = [...audits.keys()].find((one) => one !== next?.validator);
  const isJudged = [...audits.values()].some(
    ({ target, round }) => target === next?.target && round === next.round,
  );
  if (next && judge !== undefined && !isJudged) audits.set(judge, caseOf(next.target, next.round, judge));
  const active = seated.filter((one) => !without.has(one));
  const workers = active.filter((one) => !audits.has(one));
  const judging = active.flatMap((one) => {
    const found = audits.get(one);
    return found ? [[one, found] as const] : [];
  });
  return { seated, active, workers, audits: new Map(judging) };
}

function caseOf(target: string, round: number, validator: string): WorkCase {
  return { target, round, validator, second: "" };
}

/** Returns the SHA-256 that every statement of a turn of this attempt (round and group) is bound to. */
export function basisOf(
  state: AgreedState,
  attempt: readonly [round: number, group: number],
  active: readonly string[],
): string {
  const names = active.map(utf8);
  return hashFields(
    utf8("minga/mesh/1/basis"),
    fromHex(stateDigest(state)),
    ...attempt.map(integer),
    ...names,
  );
}
