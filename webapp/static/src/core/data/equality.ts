/** Whether two parts of messages are equal: plain values, lists, maps with the same keys, and bytes. */
export function same(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (one instanceof Uint8Array || other instanceof Uint8Array) {
    return one instanceof Uint8Array && other instanceof Uint8Array && sameItems(one, other);
  }
  if (Array.isArray(one) || Array.isArray(other)) {
    return Array.isArray(one) && Array.isArray(other) && sameItems(one, other);
  }
  const [mine, theirs] = [Object.entries(one), new Map(Object.entries(other))];
  return (
    mine.length === theirs.size &&
    mine.every(([key, value]) => theirs.has(key) && same(value, theirs.get(key)))
  );
}

function sameItems(one: ArrayLike<unknown>, other: ArrayLike<unknown>): boolean {
  if (one.length !== other.length) return false;
  for (let index = 0; index < one.length; index++) {
    if (!same(one[index], other[index])) return false;
  }
  return true;
}
