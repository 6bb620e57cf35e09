import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { addressOf, matches } from "../../../../../webapp/static/src/ui/task/gallery-search";

interface Golden {
  readonly tasks: readonly { name: string; title: string; summary: string; topics: string[] }[];
  readonly searches: readonly { words: string; topic: string; found: string[] }[];
}

const golden = JSON.parse(readFileSync("tests/contract/vectors/search.json", "utf8")) as Golden;

test.each(golden.searches)(
  "$words of topic $topic finds what the server finds",
  ({ words, topic, found }) => {
    const cards = golden.tasks.map(({ name, title, summary, topics }) => ({
      name,
      words: [name, title, summary, ...topics].join(" ").toLowerCase(),
      topics,
    }));
    expect(cards.filter((card) => matches({ words, topic }, card)).map(({ name }) => name)).toEqual(found);
  },
);

test("an address says what is looked for, and nothing else", () => {
  expect(addressOf({ words: " ", topic: "" })).toBe("/");
  expect(addressOf({ words: " next letter", topic: "" })).toBe("/?q=next+letter");
  expect(addressOf({ words: "a&b", topic: "own files" })).toBe("/?q=a%26b&topic=own+files");
});
