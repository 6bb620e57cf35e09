/**
 * Key agreement by X25519 (RFC 7748) and signatures by Ed25519 (RFC 8032): by WebCrypto, or in browsers that lack
 * them by @noble/curves, which is audited and loaded only there.
 */

import { type Bytes, concat, fromHex, sameBytes } from "./bytes";

/** PKCS #8 of a private key of 32 bytes (RFC 8410, section 7), up to the key. */
const PRIVATE_X25519 = fromHex("302e020100300506032b656e04220420");
const PRIVATE_ED25519 = fromHex("302e020100300506032b657004220420");
/** The curve's base point; a private key's agreement with it is the public key. */
const BASE = Uint8Array.of(9, ...new Uint8Array(31));

/**
 * Points of low order, on the curve and on its twist, and their other encodings (listed on Bernstein's page about
 * Curve25519): the agreement with them is zero for every private key.
 */
const LOW_ORDER = [
  new Uint8Array(32),
  Uint8Array.of(1, ...new Uint8Array(31)),
  fromHex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
  fromHex("5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"),
  ...[0xec, 0xed, 0xee].map((first) => Uint8Array.of(first, ...new Uint8Array(30).fill(0xff), 0x7f)),
];

/**
 * Whether a key agreement with a public key can succeed: a comparison, where a trial costs a thousand times as much.
 */
export function isUsableKey(publicKey: Uint8Array): boolean {
  // The highest bit is ignored by X25519.
  const counting = publicKey.map((byte, i) => (i === 31 ? byte & 0x7f : byte));
  return counting.length === 32 && !LOW_ORDER.some((bad) => sameBytes(bad, counting));
}

/** A key pair for agreeing on secrets. */
export interface KeyPair {
  readonly publicKey: Bytes;
  /** Returns 32 bytes that only the owners of both private keys can compute; null if `other` is no valid key. */
  agree(other: Uint8Array): Promise<Bytes | null>;
}

/** Returns the key pair of a private key of 32 bytes. */
export async function keyPair(secret: Bytes): Promise<KeyPair> {
  const agree =
    (await platform(() => platformAgreement(secret))) ?? (await nobleAgreement(new Uint8Array(secret)));
  const publicKey = await agree(BASE);
  if (publicKey === null) throw new Error("A public key could not be computed.");
  return { publicKey, agree };
}

/** A client's long-term identity. WebCrypto holds its private key, not extractable, if it supports the curve. */
export interface Identity {
  readonly publicKey: Bytes;
  readonly privateKey: CryptoKey | Bytes;
}

/** Makes a new identity; `random` is used only if the browser lacks the curve. */
export async function makeIdentity(random: (count: number) => Bytes): Promise<Identity> {
  const made = await platform(async () => {
    const pair = (await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"])) as CryptoKeyPair;
    const publicKey = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
    return { publicKey, privateKey: pair.privateKey };
  });
  if (made) return made;
  const privateKey = random(32);
  const { ed25519 } = await noble();
  return { publicKey: new Uint8Array(ed25519.getPublicKey(privateKey)), privateKey };
}

/** Returns the signature of `statement`, 64 bytes. */
export async function sign({ privateKey }: Identity, statement: Bytes): Promise<Bytes> {
  if (!(privateKey instanceof Uint8Array))
    return new Uint8Array(await crypto.subtle.sign("Ed25519", privateKey, statement));
  const signature = await platform(async () => {
    const pkcs8 = concat([PRIVATE_ED25519, privateKey]);
    const key = await crypto.subtle.importKey("pkcs8", pkcs8, "Ed25519", false, ["sign"]);
    return new Uint8Array(await crypto.subtle.sign("Ed25519", key, statement));
  });
  return signature ?? new Uint8Array((await noble()).ed25519.sign(statement, privateKey));
}

/** Whether the owner of `identity` signed exactly `statement`. */
export async function verify(
  identity: Uint8Array,
  signature: Uint8Array,
  statement: Uint8Array,
): Promise<boolean> {
  const verdict = await platform(async () => {
    try {
      const key = await crypto.subtle.importKey("raw", new Uint8Array(identity), "Ed25519", false, [
        "verify",
      ]);
      return await crypto.subtle.verify("Ed25519", key, new Uint8Array(signature), new Uint8Array(statement));
    } catch (problem) {
      // Not all values of 32 bytes are points of the curve.
      if (isNamed(problem, "DataError")) return false;
      throw problem;
    }
  });
  if (verdict !== null) return verdict;
  const { ed25519 } = await noble();
  return ed25519.verify(signature, statement, identity, { zip215: false });
}

type Agree = KeyPair["agree"];

async function platformAgreement(secret: Bytes): Promise<Agree> {
  const pkcs8 = concat([PRIVATE_X25519, secret]);
  const key = await crypto.subtle.importKey("pkcs8", pkcs8, "X25519", false, ["deriveBits"]);
  return async (other) => {
    const theirs = await crypto.subtle.importKey("raw", new Uint8Array(other), "X25519", false, []);
    try {
      return new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: theirs }, key, 256));
    } catch (problem) {
      // A point of small order gives zeros, which are public (RFC 7748, section 6.1).
      if (isNamed(problem, "OperationError")) return null;
      throw problem;
    }
  };
}

async function nobleAgreement(secret: Bytes): Promise<Agree> {
  const { x25519 } = await noble();
  return async (other) => {
    try {
      return new Uint8Array(x25519.getSharedSecret(secret, new Uint8Array(other)));
    } catch {
      // It throws a plain Error for a point of small order, and for nothing else at these lengths.
      return null;
    }
  };
}

/** Performs work by WebCrypto; returns null if it lacks the curve. */
async function platform<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (problem) {
    if (isNamed(problem, "NotSupportedError")) return null;
    throw problem;
  }
}

function isNamed(problem: unknown, name: string): boolean {
  return problem instanceof DOMException && problem.name === name;
}

const noble = () => import("@noble/curves/ed25519.js");
