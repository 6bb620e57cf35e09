/**
 * The entry of the masking worker: serves one round, beside the worker that trains for it. Its secrets end with it.
 */

import type { Bytes } from "../../core/crypto/bytes";
import type { MaskingTerms } from "../../core/crypto/context";
import type { FromMasker, ToMasker } from "../../core/messages/masking";
import { messageOf } from "../../core/user-messages";
import { RoundSecrets } from "./secrets";
import { type Expanded, expand, maskUpdate, shareUpdate } from "./update";

type Message<T extends ToMasker["type"]> = Extract<ToMasker, { type: T }>;
/** An answer without its number. */
type Answer = FromMasker extends infer M
  ? M extends { readonly id: number }
    ? Omit<M, "id">
    : never
  : never;

const scope = self as unknown as DedicatedWorkerGlobalScope;
let round: { readonly terms: MaskingTerms; readonly secrets: RoundSecrets } | null = null;
/** Used for one update only: if masks covered two, their difference would be revealed. */
let expanded: Expanded | null = null;
/** Messages are processed one after the other. */
let work: Promise<void> = Promise.resolve();

function random(count: number): Bytes {
  return crypto.getRandomValues(new Uint8Array(count));
}

function current(): NonNullable<typeof round> {
  if (round === null) throw new Error("This round has no keys yet.");
  return round;
}

async function makeKeys({ client, terms, identity }: Message<"make_keys">): Promise<Answer> {
  if (round !== null) throw new Error("This round has its keys already.");
  const { secrets, keys } = await RoundSecrets.make(client, terms, identity, random);
  round = { terms, secrets };
  return { type: "keys_made", keys };
}

async function checkRoster(message: Message<"check_roster">): Promise<Answer> {
  const { members, degree, threshold, verify } = message;
  const checked = await current().secrets.checkRoster(members, degree, threshold, verify);
  return { type: "roster_checked", ...checked };
}

async function expandMasks({ place, pairs }: Message<"expand">): Promise<Answer> {
  const { terms, secrets } = current();
  if (expanded !== null) throw new Error("The masks of this round were expanded before.");
  const masks = await secrets.masks(place, pairs);
  expanded = await expand(terms, await secrets.cohort(), masks, random);
  return { type: "expanded" };
}

function mask({ update, owed, ...trained }: Message<"mask">): Answer {
  if (expanded === null) throw new Error("The masks of this round were not expanded, or used before.");
  const once = expanded;
  expanded = null;
  const { examples } = current().terms.masking;
  const { sent, left } = shareUpdate(once, new Float32Array(update), owed);
  return { type: "masked", bytes: maskUpdate(once, { update: sent, ...trained }, examples), left };
}

function buffers({ bytes, left }: Extract<Answer, { type: "masked" }>): ArrayBuffer[] {
  return left === null ? [bytes.buffer] : [bytes.buffer, left.buffer];
}

async function perform(message: ToMasker): Promise<Answer> {
  switch (message.type) {
    case "make_keys":
      return makeKeys(message);
    case "check_roster":
      return checkRoster(message);
    case "seal": {
      const { place, threshold, neighbours } = message;
      return { type: "shares_sealed", sealed: await current().secrets.seal(place, threshold, neighbours) };
    }
    case "open": {
      const { place, senders, sealed } = message;
      return { type: "shares_opened", unopened: await current().secrets.open(place, senders, sealed) };
    }
    case "expand":
      return expandMasks(message);
    case "mask":
      return mask(message);
    case "sign_survivors":
      return { type: "survivors_signed", signature: await current().secrets.signSurvivors(message.alive) };
    case "check_vouchers": {
      const { alive, vouchers, signatures } = message;
      const wrong = await current().secrets.checkConsistencySignatures(alive, vouchers, signatures);
      return { type: "vouchers_checked", wrong };
    }
    case "make_reveal":
      return { type: "revealed", shares: current().secrets.reveal(message.seeds, message.mask_keys) };
  }
}

scope.onmessage = ({ data }: MessageEvent<ToMasker>) => {
  const { id } = data;
  work = work
    .then(() => perform(data))
    .catch((error: unknown): Answer => {
      return { type: "failed", problem: messageOf(error) };
    })
    .then((answer) => {
      scope.postMessage({ ...answer, id }, answer.type === "masked" ? buffers(answer) : []);
    });
};
