/**
 * What members of a Byzantine mesh sign in a round: the bodies of their statements, one for each phase. Digests and
 * keys are hexadecimal here, and bytes in the encoding. The twin, which explains the fields, is
 * backend/wire/byzantine_bodies.py.
 */

import { encode } from "@msgpack/msgpack";
import { type Bytes, fromHex, sameBytes, toHex } from "../../../core/crypto/bytes";
import * as fields from "../../wire/fields";
import { count } from "../../wire/generated/fields";
import { client, MOST_IN_GROUP, place, places } from "../../wire/generated/mesh-fields";
import { unpack } from "../../wire/msgpack";

const MOST_NAMED = 1024;

const digest = hexOf(fields.bytesOf(32));
const maybeDigest = hexOf(fields.bytesOf(0, 32));
const numbers = fields.list(fields.real, MOST_IN_GROUP);
const turnPhase = fields.oneOf("commit", "made", "reveal", "check", "verdict");
const judged = fields.oneOf("same", "doubtful", "other", "missing", "unable");
const workFinding = fields.record({ target: client, round: count, found: judged });
const seenWork = fields.record({ client, identity: digest, commit: digest });
const partFinding = fields.record({
  part: place,
  wrong: fields.nullable(places),
  wrong_mean: fields.truth,
});

const bodies = {
  commit: {
    pieces: fields.list(digest, MOST_IN_GROUP),
    coin: digest,
    judgements: fields.list(workFinding, 2 * MOST_IN_GROUP),
  },
  made: { mean: maybeDigest, newcomers: fields.list(seenWork, MOST_NAMED) },
  reveal: { coin: digest, salt: digest },
  check: { products: numbers, lengths: numbers },
  verdict: { state: digest },
  call: { phase: turnPhase, lacks: fields.list(digest, 2 * MOST_IN_GROUP), disputed: places },
  shown: {
    holds: fields.list(digest, MOST_NAMED),
    findings: fields.list(partFinding, MOST_IN_GROUP),
  },
} as const;

const check = fields.tagged(bodies);

/** The phases of a turn; members also `call` for an exchange, and say what they have `shown`. */
export type TurnPhase = fields.Checked<typeof turnPhase>;
export type WorkFinding = fields.Checked<typeof workFinding>;
export type SeenWork = fields.Checked<typeof seenWork>;
export type PartFinding = fields.Checked<typeof partFinding>;
export type Body = fields.MessageOf<typeof bodies>;
export type BodyOf<T extends Body["type"]> = Extract<Body, { readonly type: T }>;

/** Returns the bytes that are signed. */
export function encodeBody(body: Body): Bytes {
  // Of all bodies only this one has numbers that are not whole, and it has no others.
  return encode(packed(body), { forceIntegerToFloat: body.type === "check" });
}

/** Returns the body; null for bytes that `encodeBody` does not write, or with an infinite number or NaN. */
export function decodeBody(data: Uint8Array): Body | null {
  try {
    const body = check(unpack(data), "the body");
    return hasFiniteNumbers(body) && sameBytes(encodeBody(body), data) ? body : null;
  } catch {
    return null;
  }
}

function hasFiniteNumbers(body: Body): boolean {
  return body.type !== "check" || [...body.products, ...body.lengths].every(Number.isFinite);
}

/** Returns the body with bytes for digests, and its fields in the order of the encoding. */
function packed(body: Body): Readonly<Record<string, unknown>> {
  const { type } = body;
  switch (type) {
    case "commit": {
      const judgements = body.judgements.map(({ target, round, found }) => ({ target, round, found }));
      return { type, pieces: body.pieces.map(fromHex), coin: fromHex(body.coin), judgements };
    }
    case "made": {
      const newcomers = body.newcomers.map((seen) => ({
        client: seen.client,
        identity: fromHex(seen.identity),
        commit: fromHex(seen.commit),
      }));
      return { type, mean: fromHex(body.mean), newcomers };
    }
    case "reveal":
      return { type, coin: fromHex(body.coin), salt: fromHex(body.salt) };
    case "check":
      return { type, products: body.products, lengths: body.lengths };
    case "verdict":
      return { type, state: fromHex(body.state) };
    case "call":
      return { type, phase: body.phase, lacks: body.lacks.map(fromHex), disputed: body.disputed };
    case "shown": {
      const findings = body.findings.map(({ part, wrong, wrong_mean }) => ({ part, wrong, wrong_mean }));
      return { type, holds: body.holds.map(fromHex), findings };
    }
  }
}

function hexOf(bytes: fields.Check<Uint8Array>): fields.Check<string> {
  return (value, where) => toHex(bytes(value, where));
}
