/**
 * Signs a member's statements, and checks those that arrive; the machine sees only true ones. The twin is
 * backend/peer/mesh/byzantine/round_signatures.py.
 */

import { type Bytes, sameBytes, toHex } from "../../../core/crypto/bytes";
import type { Identity } from "../../../core/crypto/keys";
import {
  isRelayed,
  isSaid,
  relay,
  type SignedStatement,
  type Statement,
  signed,
  statementDigest,
  type TurnOfRound,
} from "../../../core/crypto/statements";
import type { ByzantineFrame } from "../../../protocol/wire/mesh";

export type SayFrame = Extract<ByzantineFrame, { readonly type: "say" }>;

/** A statement that its sender said, and the identities of members that passed it on. */
export interface HeardStatement {
  readonly statement: Statement;
  readonly signers: readonly string[];
}

/** Statements of later turns that a link may bring before this peer gets there. */
const MOST_EARLY = 64;
/** What one member's statements of a turn may take: the honest say a few in each phase and exchange. */
const MOST_SAID_BYTES = 512 * 1024;

interface PassedSignature {
  readonly identity: Bytes;
  readonly signature: Bytes;
}

/** The signatures of one attempt at a round. */
export class RoundSignatures {
  readonly #said = new Map<string, Bytes>();
  /** By statement and identity. */
  readonly #passedOn = new Map<string, Map<string, PassedSignature>>();
  /** The bytes of statements, by turn and author. */
  readonly #bytes = new Map<string, number>();
  #early = new Map<string, SayFrame[]>();

  constructor(
    private readonly identity: Identity,
    private readonly attempt: { readonly round: number; readonly group: number },
  ) {}

  /** Returns the frame of an own statement. */
  async say(turn: TurnOfRound, statement: Statement): Promise<SayFrame> {
    const said = await signed(this.identity, turn, statement);
    this.#said.set(digestOf(turn, statement), said.signature);
    return this.#frame(turn, said, []);
  }

  /**
   * Returns the frame of a statement, with all signatures known, and this member's; null for one whose signature is
   * not here.
   */
  async passOn(turn: TurnOfRound, statement: Statement): Promise<SayFrame | null> {
    const digest = digestOf(turn, statement);
    const signature = this.#said.get(digest);
    if (signature === undefined) return null;
    const known = this.#passedBy(digest);
    const own = this.identity.publicKey;
    if (!known.has(toHex(own)))
      known.set(toHex(own), { identity: own, signature: await relay(this.identity, turn, statement) });
    return this.#frame(turn, { ...statement, signature }, [...known.values()]);
  }

  /** Returns a statement of `turn`; null for one that its sender never said. */
  async received(turn: TurnOfRound, { said, passed_on }: SayFrame): Promise<HeardStatement | null> {
    const { signature, ...statement } = owned(said);
    const digest = digestOf(turn, statement);
    const known = this.#said.get(digest);
    if (known === undefined || !sameBytes(known, signature)) {
      const author = `${turn.turn} ${toHex(statement.identity)}`;
      const bytes = this.#bytes.get(author) ?? 0;
      if (known !== undefined || bytes > MOST_SAID_BYTES) return null;
      if (!(await isSaid(turn, { ...statement, signature }))) return null;
      // It may have come over several links at once.
      if (!this.#said.has(digest))
        this.#bytes.set(author, (this.#bytes.get(author) ?? 0) + statement.body.length);
      this.#said.set(digest, signature);
    }
    const signers = this.#passedBy(digest);
    for (const one of passed_on) {
      const [identity, relayed] = [new Uint8Array(one.identity), new Uint8Array(one.signature)];
      if (signers.has(toHex(identity)) || !(await isRelayed(turn, statement, identity, relayed))) continue;
      signers.set(toHex(identity), { identity, signature: relayed });
    }
    return { statement, signers: [...signers.keys()] };
  }

  /** Keeps a frame of a later turn, of each link a few. */
  keepEarly(client: string, frame: SayFrame): void {
    const frames = this.#early.get(client) ?? [];
    this.#early.set(client, frames);
    if (frames.length < MOST_EARLY) frames.push(frame);
  }

  /** Returns all early frames, and keeps them no longer. */
  takeEarly(): readonly (readonly [client: string, frame: SayFrame])[] {
    const early = [...this.#early].flatMap(([client, frames]) =>
      frames.map((frame) => [client, frame] as const),
    );
    this.#early = new Map();
    return early;
  }

  /** Returns those of the statements whose signatures are here, with them. */
  signed(turn: TurnOfRound, statements: readonly Statement[]): readonly SignedStatement[] {
    return statements.flatMap((statement) => {
      const signature = this.#said.get(digestOf(turn, statement));
      return signature === undefined ? [] : [{ ...statement, signature }];
    });
  }

  #passedBy(digest: string): Map<string, PassedSignature> {
    const known = this.#passedOn.get(digest) ?? new Map<string, PassedSignature>();
    this.#passedOn.set(digest, known);
    return known;
  }

  #frame({ turn }: TurnOfRound, said: SignedStatement, passed_on: readonly PassedSignature[]): SayFrame {
    return { type: "say", ...this.attempt, turn, said, passed_on };
  }
}

/** Copies the bytes of a frame, which are views on it. */
function owned({ identity, phase, before, body, signature }: SayFrame["said"]): SignedStatement {
  return {
    identity: new Uint8Array(identity),
    phase,
    before: new Uint8Array(before),
    body: new Uint8Array(body),
    signature: new Uint8Array(signature),
  };
}

function digestOf(turn: TurnOfRound, statement: Statement): string {
  return toHex(statementDigest(turn, statement));
}
