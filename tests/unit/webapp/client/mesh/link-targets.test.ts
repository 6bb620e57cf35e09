import { expect, test } from "vitest";
import { linkTargets } from "../../../../../webapp/static/src/client/mesh/link-targets";

const ids = (count: number) =>
  Array.from({ length: count }, (_, i) => ((i * 7919) % 100_003).toString(16).padStart(16, "0"));

test("where there are few, everybody links with everybody", () => {
  const clients = ids(33);
  for (const own of clients)
    expect(linkTargets(own, clients)).toEqual(clients.filter((one) => one !== own).sort());
});

test("beyond, each links with 32, and both of two agree", () => {
  const clients = ids(100);
  const wanted = new Map(clients.map((own) => [own, new Set(linkTargets(own, clients))]));
  for (const [own, others] of wanted) {
    expect(others.size).toBe(32);
    expect(others.has(own)).toBe(false);
    for (const other of others) expect(wanted.get(other)?.has(own)).toBe(true);
  }
});
