/** Collects signatures of a group's survivors, until as many as the group needs form a certificate. */

import type { Bytes } from "../../core/crypto/bytes";
import { type GroupEnding, weightsStatement } from "../../core/crypto/certificates";
import { type Identity, sign, verify } from "../../core/crypto/keys";
import type { Certificate, PeerFrame } from "../../protocol/wire/mesh";

export type AttestFrame = Extract<PeerFrame, { readonly type: "attest" }>;

export class CertificateCollector {
  readonly #statement: Bytes;
  readonly #signatures = new Map<string, Certificate["signatures"][number]>();
  #complete = false;

  /** `identities` are the survivors' keys, as far as known; `least` of them must sign. */
  constructor(
    task: string,
    readonly ending: GroupEnding,
    private readonly identities: ReadonlyMap<string, Uint8Array>,
    private readonly least: number,
  ) {
    this.#statement = weightsStatement(task, ending);
  }

  /** The number of survivors that signed, this peer included: they have the weights. */
  get holders(): number {
    return this.#signatures.size;
  }

  /** Signs for this peer and returns the signature for the others; it counts if this is a survivor. */
  async sign(client: string, identity: Identity): Promise<AttestFrame & { readonly signature: Bytes }> {
    const signature = await sign(identity, this.#statement);
    if (this.ending.survivors.includes(client))
      this.#signatures.set(client, { client, identity: identity.publicKey, signature });
    const { round, group, weights } = this.ending;
    return { type: "attest", round, group, weights, signature };
  }

  /** Adds a signature; returns the certificate if this one completes it. */
  async addSignature(client: string, { weights, signature }: AttestFrame): Promise<Certificate | null> {
    const { survivors } = this.ending;
    const identity = this.identities.get(client);
    if (identity === undefined || !survivors.includes(client) || weights !== this.ending.weights) return null;
    if (!(await verify(identity, signature, this.#statement))) return null;
    this.#signatures.set(client, { client, identity, signature });
    if (this.#complete || this.#signatures.size < this.least) return null;
    this.#complete = true;
    const signatures = [...this.#signatures.values()].sort((a, b) => (a.client < b.client ? -1 : 1));
    return { ...this.ending, survivors: [...survivors].sort(), signatures };
  }
}
