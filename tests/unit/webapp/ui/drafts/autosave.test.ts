import { expect, test } from "vitest";
import {
  Autosave,
  type DraftChange,
  type SaveState,
} from "../../../../../webapp/static/src/ui/drafts/autosave";
import { NoAnswer, Refusal } from "../../../../../webapp/static/src/ui/lib/api";

/** A saver whose server answers `answers` in their order, then takes everything. */
function saver(...answers: readonly Error[]) {
  const waiting = [...answers];
  const sent: DraftChange[] = [];
  const signs: SaveState["state"][] = [];
  const made = new Autosave(
    async (change) => {
      sent.push(change);
      const answer = waiting.shift();
      if (answer) throw answer;
    },
    ({ state }) => void signs.push(state),
    1,
    1,
  );
  return { made, sent, signs };
}

test("changes of a moment go together, the later over the earlier", async () => {
  const { made, sent, signs } = saver();
  void made.save({ task: { title: "A", data: { holdout: 0.1 } } });
  void made.save({ readme: "x" });
  await made.save({ task: { title: "B", data: { source: "volunteer" } } });
  expect(sent).toEqual([{ task: { title: "B", data: { holdout: 0.1, source: "volunteer" } }, readme: "x" }]);
  expect(signs.at(-1)).toBe("saved");
  expect(made.unsaved).toBe(false);
});

test("what a server that is away did not take is sent again, with what came since", async () => {
  const { made, sent, signs } = saver(new NoAnswer("away"));
  await made.save({ task: { title: "A" } });
  expect(sent).toEqual([{ task: { title: "A" } }, { task: { title: "A" } }]);
  expect(signs).toContain("away");
  expect(signs.at(-1)).toBe("saved");
});

test("what is changed while a server is away goes over what it did not take", async () => {
  const sent: DraftChange[] = [];
  const made: Autosave = new Autosave(
    async (change) => {
      if (sent.push(change) > 1) return;
      void made.save({ task: { title: "B" }, readme: "y" });
      throw new NoAnswer("away");
    },
    () => undefined,
    1,
    1,
  );
  await made.save({ task: { title: "A", data: { holdout: 0.1 } }, readme: "x" });
  expect(sent.slice(1)).toEqual([{ task: { title: "B", data: { holdout: 0.1 } }, readme: "y" }]);
});

test("what a server refuses is said, and is no reason to lose what comes after", async () => {
  const { made, sent, signs } = saver(new Refusal("no"));
  await made.save({ task: { hooks: {} } });
  expect(signs.at(-1)).toBe("failed");
  await made.save({ task: { title: "B" } });
  expect(sent.at(-1)).toEqual({ task: { title: "B" } });
  expect(signs.at(-1)).toBe("saved");
});

test("a page that is left has what waits saved at once", async () => {
  const sent: DraftChange[] = [];
  const made = new Autosave(
    async (change) => void sent.push(change),
    () => undefined,
    1_000_000,
  );
  void made.save({ readme: "x" });
  expect(made.unsaved).toBe(true);
  await made.flush();
  expect(sent).toEqual([{ readme: "x" }]);
});
