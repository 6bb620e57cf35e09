import fc from "fast-check";
import { expect, test } from "vitest";
import { Arena } from "../../../../../webapp/static/src/engine/wasm/recording/arena";

/** A heap that never uses an address twice, so that a test sees whose memory is whose. */
class Blocks {
  readonly sizes = new Map<number, number>();
  #end = 1024;

  _malloc(bytes: number): number {
    const address = this.#end;
    this.#end += bytes;
    this.sizes.set(address, bytes);
    return address;
  }

  _free(address: number): void {
    expect(this.sizes.delete(address)).toBe(true);
  }
}

const MUCH = 1 << 20;

test("a block that was given back serves the next tensor that needs about as much", () => {
  const heap = new Blocks();
  const arena = new Arena(heap, MUCH);
  const address = arena.take(1000);
  arena.give(address);
  expect(arena.take(100)).not.toBe(address);
  expect(arena.take(900)).toBe(address);
});

test("what is kept lies where nothing was before, and nothing will be", () => {
  const arena = new Arena(new Blocks(), MUCH);
  const before = arena.take(64);
  arena.give(before);
  const kept = arena.keep(64);
  expect([arena.take(64), arena.take(64)]).not.toContain(kept);
  expect(kept).not.toBe(before);
});

test("no two blocks in use share memory, and all are freed at the end", () => {
  const actions = fc.array(fc.record({ bytes: fc.nat(5000), gives: fc.boolean(), pick: fc.nat() }));
  fc.assert(
    fc.property(actions, (list) => {
      const heap = new Blocks();
      const arena = new Arena(heap, MUCH);
      const used: { address: number; bytes: number }[] = [];
      for (const { bytes, gives, pick } of list) {
        if (gives && used.length > 0) arena.give(used.splice(pick % used.length, 1)[0]?.address ?? 0);
        const address = arena.take(bytes);
        expect(heap.sizes.get(address) ?? 0).toBeGreaterThanOrEqual(bytes);
        expect(used.some((one) => one.address === address)).toBe(false);
        used.push({ address, bytes });
      }
      arena.dispose();
      expect(heap.sizes.size).toBe(0);
    }),
  );
});

test("more than the limit is refused, and what is free does not count again", () => {
  const arena = new Arena(new Blocks(), 4096);
  const address = arena.take(4096);
  expect(() => arena.take(16)).toThrow("too much memory");
  arena.give(address);
  expect(arena.take(4000)).toBe(address);
});
