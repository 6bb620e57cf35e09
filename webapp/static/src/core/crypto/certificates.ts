/**
 * What shows that weights are a group's: signatures of more than half of those who ended with them (0025, "Certificates").
 * `backend/crypto/certificates.py` is the twin. Whether a signature's key is that peer's, the caller knows.
 */

import type { Certificate } from "../../protocol/wire/mesh";
import { type Bytes, fields, fromHex, integer, utf8 } from "./bytes";
import { verify } from "./keys";

/** What came of a group: `weights` are what all `survivors` (public ids) ended with. Hashes are hexadecimal. */
export type GroupEnding = Omit<Certificate, "signatures">;

/** What each survivor signs. */
export function weightsStatement(
  task: string,
  { bundle, round, group, survivors, weights }: GroupEnding,
): Bytes {
  return fields(
    utf8("minga/mesh/1/weights"),
    utf8(task),
    fromHex(bundle),
    integer(round),
    integer(group),
    utf8([...survivors].sort().join("")),
    fromHex(weights),
  );
}

/** Whether more than half of the survivors signed, each once, and all of these signatures are right. */
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
