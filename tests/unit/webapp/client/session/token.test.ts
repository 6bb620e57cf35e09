import { expect, test } from "vitest";
import { makeToken, ownToken } from "../../../../../webapp/static/src/client/session/token";

test("a token is 43 characters that the protocol allows, and never the same", () => {
  const tokens = Array.from({ length: 50 }, makeToken);
  for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(new Set(tokens).size).toBe(50);
});

test("where nothing can be kept, each visit gets a token all the same", () => {
  // Node has no localStorage here, like a browser that refuses it.
  expect(ownToken()).toMatch(/^[A-Za-z0-9_-]{43}$/);
});
