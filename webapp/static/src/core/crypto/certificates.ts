/**
 * Certificates of a group's weights: signatures of more than half of its survivors (0025, "Certificates"). The twin
 * is backend/crypto/certificates.py. The caller checks that each signature's key is that peer's.
 */

import type { Certificate } from "../../protocol/wire/mesh";
import { type Bytes, fields, fromHex, integer, utf8 } from "./bytes";
import { verify } from "./keys";

/** The result of a group: `weights` are what all `survivors` (public ids) ended with. Hashes are hexadecimal. */
export type GroupEnding = Omit<Certificate, "signatures">;

/** Returns the statement that each survivor signs. */
export function weightsStatement(
  task: string,
  { bundle, run, round, group, survivors, weights }: GroupEnding,
): Bytes {
  return fields(
    utf8("minga/mesh/1/weights"),
    utf8(task),
    fromHex(bundle),
    fromHex(run),
    integer(round),
    integer(group),
    utf8([...survivors].sort().join("")),
    fromHex(weights),
  );
}

/** Whether more than half of the survivors signed, each once, and all of these signatures are valid. */
export async function certified(certificate: Certificate, task: string): Promise<boolean> {
  const survivors = new Set(certificate.survivors);
  const signers = new Set(certificate.signatures.map(({ client }) => client));
  if (survivors.size !== certificate.survivors.length || signers.size !== certificate.signatures.length)
    return false;
  if (![...signers].every((one) => survivors.has(one)) || 2 * signers.size <= survivors.size) return false;
  const statement = weightsStatement(task, certificate);
  const right = await Promise.all(
    certificate.signatures.map(({ identity, signature }) => verify(identity, signature, statement)),
  );
  return right.every(Boolean);
}
