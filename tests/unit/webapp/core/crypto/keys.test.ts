import { afterEach, describe, expect, test } from "vitest";
import { type Bytes, fromHex, utf8 } from "../../../../../webapp/static/src/core/crypto/bytes";
import { keyPair, makeIdentity, sign, verify } from "../../../../../webapp/static/src/core/crypto/keys";
import { withoutCurves } from "../../../../support/browser/harness/calls/missing-curves";

const random = (count: number): Bytes => crypto.getRandomValues(new Uint8Array(count));

let giveBack: () => void = () => undefined;

afterEach(() => giveBack());

function takeAway(): void {
  giveBack = withoutCurves();
}

describe.each([
  ["with the platform's curves", () => undefined],
  ["where the platform has no such curves", takeAway],
])("%s", (_, prepare) => {
  test("two keys agree as in RFC 7748, section 6.1", async () => {
    prepare();
    const alice = await keyPair(fromHex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
    const bob = await keyPair(fromHex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
    const agreed = fromHex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
    expect(alice.publicKey).toEqual(
      fromHex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"),
    );
    expect(await alice.agree(bob.publicKey)).toEqual(agreed);
    expect(await bob.agree(alice.publicKey)).toEqual(agreed);
  });

  test("nobody agrees with a point of small order", async () => {
    prepare();
    const own = await keyPair(random(32));
    expect(await own.agree(new Uint8Array(32))).toBeNull();
    expect(await own.agree(Uint8Array.of(1, ...new Uint8Array(31)))).toBeNull();
  });

  test("signatures are those of RFC 8032, section 7.1, test 1", async () => {
    prepare();
    const privateKey = fromHex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
    const publicKey = fromHex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
    const signature = await sign({ privateKey, publicKey }, new Uint8Array());
    expect(signature).toEqual(
      fromHex(
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
      ),
    );
    expect(await verify(publicKey, signature, new Uint8Array())).toBe(true);
  });

  test("a new identity is known by its signatures, and by nobody else's", async () => {
    prepare();
    const [own, other] = [await makeIdentity(random), await makeIdentity(random)];
    const statement = utf8("these are my keys");
    const signature = await sign(own, statement);
    expect(await verify(own.publicKey, signature, statement)).toBe(true);
    expect(await verify(other.publicKey, signature, statement)).toBe(false);
    expect(await verify(own.publicKey, signature, utf8("these are his keys"))).toBe(false);
    expect(
      await verify(
        own.publicKey,
        signature.map((byte) => byte ^ 1),
        statement,
      ),
    ).toBe(false);
    // 32 bytes that are no point of the curve.
    expect(await verify(Uint8Array.of(2, ...new Uint8Array(31)), signature, statement)).toBe(false);
  });
});

test("the platform's private identity cannot be read out", async () => {
  const { privateKey } = await makeIdentity(random);
  expect((privateKey as CryptoKey).extractable).toBe(false);
  await expect(crypto.subtle.exportKey("pkcs8", privateKey as CryptoKey)).rejects.toThrow();
});

test("who has the platform's curves and who has not agree and believe each other", async () => {
  const secrets = [random(32), random(32)] as const;
  const platform = await keyPair(secrets[0]);
  const signer = await makeIdentity(random);
  const signature = await sign(signer, utf8("hello"));
  takeAway();
  const other = await keyPair(secrets[1]);
  const agreed = await other.agree(platform.publicKey);
  expect(await verify(signer.publicKey, signature, utf8("hello"))).toBe(true);
  giveBack();
  expect(await platform.agree(other.publicKey)).toEqual(agreed);
});
