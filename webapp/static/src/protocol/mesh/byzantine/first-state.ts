/**
 * The state that a Byzantine mesh begins with: its founders have the seats. The twin is
 * backend/protocols/mesh/byzantine/first_state.py; tests/contract/vectors/byzantine_states.json binds both.
 */

import { type Bytes, fromHex, toHex, utf8 } from "../../../core/crypto/bytes";
import { hash, hashFields } from "../../../core/crypto/hash";
import type { ByzantineRules } from "../../wire/mesh";
import { packed, packedList, packedReal, packedRecord } from "./packing";
import type { AgreedState } from "./state";

/** The SHA-256 of no momentum. */
export const NO_SLOTS = toHex(hash(new Uint8Array()));
const ZEROS = "0".repeat(64);

/** Returns the SHA-256 of the rules. */
export function rulesDigest(rules: ByzantineRules): string {
  return hashFields(utf8("minga/mesh/1/rules"), packedRules(rules));
}

/**
 * Returns the state before the first round from `weights` (SHA-256); `founders` are identities by client. The optimizer
 * has no momentum yet, and nobody tossed the coin: it draws examples, and no validators.
 */
export function firstState(
  rules: ByzantineRules,
  weights: string,
  founders: ReadonlyMap<string, string>,
): AgreedState {
  const digest = rulesDigest(rules);
  const seats = [...founders.keys()]
    .sort()
    .map((client) => ({ client, identity: founders.get(client) as string, absences: [] }));
  return {
    round: 0,
    weights,
    slots: NO_SLOTS,
    coin: hashFields(utf8("minga/mesh/1/first"), fromHex(digest)),
    radius: rules.terms.radius ?? 0,
    membership: { seats, newcomers: [], banned: [] },
    works: [],
    court: [],
    doubtful: [],
    suspected: [],
    rules: digest,
    before: ZEROS,
    said: ZEROS,
    unable: [],
  };
}

function packedRules(rules: ByzantineRules): Bytes {
  const { terms, outer, tolerance } = rules;
  const { radius } = terms;
  return packedRecord({
    terms: packedRecord({
      validators: packed(terms.validators),
      radius: radius === null ? packed(null) : packedReal(radius),
      far: packedReal(terms.far),
      probation: packed(terms.probation),
      audits: packed(terms.audits),
      seconds: packedReal(terms.seconds),
      patience: packedReal(terms.patience),
    }),
    bundle: packed(rules.bundle),
    run: packed(rules.run),
    outer: packedRecord({
      kind: packed(outer.kind),
      learning_rate: packedReal(outer.learning_rate),
      momentum: packedReal(outer.momentum),
    }),
    steps: packed(rules.steps),
    batch_size: packed(rules.batch_size),
    learning_rate: packedReal(rules.learning_rate),
    tolerance:
      tolerance === null
        ? packed(null)
        : packedRecord({
            distance: packedReal(tolerance.distance),
            cosine: packedReal(tolerance.cosine),
            blame: packedReal(tolerance.blame),
          }),
    shards: packedList(
      rules.shards.map(({ sha256, examples }) =>
        packedRecord({ sha256: packed(sha256), examples: packed(examples) }),
      ),
    ),
  });
}
