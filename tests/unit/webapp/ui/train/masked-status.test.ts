import { expect, test } from "vitest";
import type { MaskedView } from "../../../../../webapp/static/src/client/session/masking-host";
import { minimumNote, visibilityOf } from "../../../../../webapp/static/src/ui/train/masked-status";

const VIEW: MaskedView = { stage: "masked", members: 6, active: false, met: null, reason: null };

test.each<[MaskedView["stage"], number, string]>([
  ["keys", 0, "Exchanging keys with the others"],
  ["dealing", 6, "Exchanging keys with 5 other participants"],
  ["masked", 6, "Masked among 6: your own update looks random to the server."],
  ["revealed", 6, "Masked among 6: the server now reads their sum."],
  ["refused", 0, "This round continues without you."],
])("in the stage %s the page says what becomes of the update", (stage, members, begin) => {
  expect(visibilityOf({ ...VIEW, stage, members }).line.startsWith(begin)).toBe(true);
});

test("a round that is given up says why, and nothing else", () => {
  const seen = visibilityOf({ ...VIEW, stage: "refused", reason: "A client is in the roster twice." });
  expect(seen).toEqual({
    line: "This round contains nothing from you. A client is in the roster twice.",
    roster: null,
  });
});

test("who vouches for the roster is said as soon as there is one", () => {
  const roster = (change: Partial<MaskedView>) => visibilityOf({ ...VIEW, ...change }).roster;
  expect(roster({ stage: "keys", members: 0 })).toBeNull();
  expect(roster({})).toContain("The server says who the others are.");
  expect(roster({ active: true, met: 0 })).toContain("for the first time");
  expect(roster({ active: true, met: 3 })).toContain("You have met 3 of the 5 others before");
  expect(roster({ active: true, met: 3 })).toContain("Only the server vouches for the rest");
  expect(roster({ active: true, met: 5 })).toContain("You have met all the others before");
});

test.each([
  [0, false, false, "leave it empty"],
  [5, false, true, "To join it empty this field"],
  [0, true, false, "own number applies: 8"],
  [8, true, false, "only in masked rounds"],
  [9, true, true, "cannot promise 9. To join it, enter 8 or fewer"],
])(
  "a minimum of %d where a task masks among 8 (%s) bars (%s) and says: %s",
  (minimum, masks, bars, words) => {
    const note = minimumNote(minimum, { masks, least: 8 });
    expect(note).toEqual({ text: expect.stringContaining(words), bars });
  },
);
