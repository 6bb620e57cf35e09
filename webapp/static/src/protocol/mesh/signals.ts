/**
 * The signed messages by which two peers make a link: a carrier can read but not change them. The twin is
 * backend/wire/signals.py; tests/contract/vectors/sealed_link.json tests both.
 */

import { encode } from "@msgpack/msgpack";
import { type Bytes, fields, utf8 } from "../../core/crypto/bytes";
import { type Identity, sign, verify } from "../../core/crypto/keys";
import { bytes, bytesOf, type Check, FrameError, nullable, oneOf, record, text, whole } from "../wire/fields";
import { unpackFrame } from "../wire/messages";

export const SESSION_BYTES = 16;
/** The largest signal that the wire carries, in bytes. */
const MOST_BYTES = 16 * 1024;

/** The signer and the recipient of a signal, by their public ids. */
export interface Route {
  readonly task: string;
  readonly from: string;
  readonly to: string;
}

export interface Candidate {
  readonly candidate: string;
  readonly sdpMid: string | null;
  readonly sdpMLineIndex: number | null;
}

/** The content of a signal; a candidate of null is the end of the candidates. */
export type SignalBody =
  | {
      readonly kind: "description";
      readonly body: { readonly type: "offer" | "answer"; readonly sdp: string };
    }
  | { readonly kind: "candidate"; readonly body: Candidate | null }
  | { readonly kind: "seal"; readonly body: { readonly key: Uint8Array } }
  | { readonly kind: "bye"; readonly body: null };

export interface Signal {
  /** The attempt at a link that the signal belongs to. */
  readonly session: Uint8Array;
  readonly body: SignalBody;
}

const envelope = record({
  session: bytesOf(SESSION_BYTES),
  kind: oneOf("description", "candidate", "seal", "bye"),
  body: bytes,
  signature: bytesOf(64),
});

const description = record({ type: oneOf("offer", "answer"), sdp: text() });
const candidate = record({
  candidate: text(),
  sdpMid: nullable(text()),
  sdpMLineIndex: nullable(whole(0)),
});
/** Defaults of the fields that a candidate may omit. */
const UNPLACED = { sdpMid: null, sdpMLineIndex: null };
const map: Check<object> = (value, where) => {
  if (typeof value !== "object" || value === null) throw new FrameError(`${where} must be a map.`);
  return value;
};
const seal = record({ key: bytesOf(32) });
const nothing = record({});

/** Encodes and signs a signal, for the wire's `data`. */
export async function writeSignal(
  identity: Identity,
  route: Route,
  { session, body: { kind, body } }: Signal,
): Promise<Bytes> {
  const data = encode(body ?? {});
  const signature = await sign(identity, statement(route, session, kind, data));
  return encode({ session, kind, body: data, signature });
}

/** Returns the signal that the owner of `identity` signed for this peer; null for anything else. */
export async function readSignal(
  identity: Uint8Array,
  route: Route,
  data: Uint8Array,
): Promise<Signal | null> {
  try {
    const { session, kind, body, signature } = envelope(unpackFrame(data, MOST_BYTES), "the signal");
    if (!(await verify(identity, signature, statement(route, session, kind, body)))) return null;
    return { session, body: bodyOf(kind, unpackFrame(body, MOST_BYTES)) };
  } catch (problem) {
    if (problem instanceof FrameError) return null;
    throw problem;
  }
}

function bodyOf(kind: SignalBody["kind"], body: unknown): SignalBody {
  const as = <T>(check: Check<T>): T => check(body, kind);
  switch (kind) {
    case "description":
      return { kind, body: as(description) };
    case "candidate":
      return { kind, body: isEmpty(body) ? null : candidate({ ...UNPLACED, ...as(map) }, kind) };
    case "seal":
      return { kind, body: as(seal) };
    case "bye":
      as(nothing);
      return { kind, body: null };
  }
}

function statement({ task, from, to }: Route, session: Uint8Array, kind: string, body: Uint8Array): Bytes {
  return fields(utf8("minga/mesh/1/signal"), utf8(task), utf8(from), utf8(to), session, utf8(kind), body);
}

function isEmpty(body: unknown): boolean {
  return typeof body === "object" && body !== null && Object.keys(body).length === 0;
}
