import { expect, test } from "vitest";
import type { Bytes } from "../../../../../webapp/static/src/core/crypto/bytes";
import { seal, unseal } from "../../../../../webapp/static/src/core/crypto/sealing";

const random = (count: number): Bytes => crypto.getRandomValues(new Uint8Array(count));
const [key, context, plain] = [random(32), random(32), random(64)];

test("what is sealed comes out for its receiver", async () => {
  const sealed = await seal(key, context, 3, 5, plain);
  expect(sealed).toHaveLength(80);
  expect(await unseal(key, context, 3, 5, sealed)).toEqual(plain);
});

test("nothing comes out under another key, context, sender or receiver, or when a bit was changed", async () => {
  const sealed = await seal(key, context, 3, 5, plain);
  expect(await unseal(random(32), context, 3, 5, sealed)).toBeNull();
  expect(await unseal(key, random(32), 3, 5, sealed)).toBeNull();
  expect(await unseal(key, context, 4, 5, sealed)).toBeNull();
  expect(await unseal(key, context, 5, 3, sealed)).toBeNull();
  for (const at of [0, 40, 79]) {
    const changed = sealed.map((byte, i) => (i === at ? byte ^ 1 : byte));
    expect(await unseal(key, context, 3, 5, changed)).toBeNull();
  }
  expect(await unseal(key, context, 3, 5, sealed.slice(0, 10))).toBeNull();
});
