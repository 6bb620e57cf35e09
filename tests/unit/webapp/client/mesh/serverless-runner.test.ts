import { readFileSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import type { Evaluate } from "../../../../../webapp/static/src/protocol/client/evaluation";
import type { Event } from "../../../../../webapp/static/src/protocol/mesh/serverless/serverless-events";
import { orderFor } from "./member";
import { PythonMember } from "./python-members";
import { type Past, ServerlessPage } from "./serverless-page";

const CLIENTS = ["0123456789abcdef", "1123456789abcdef", "2123456789abcdef"] as const;
const [ONE, PEER, THREE] = CLIENTS;
const WEIGHTS = [3, 1, 4] as const;
const WAIT = { timeout: 240_000, interval: 10 };

/** The first round of the first story, which Python wrote. */
function firstRound(): Past {
  const [story] = JSON.parse(readFileSync("tests/contract/vectors/onward.json", "utf8"));
  const events = (story.steps as { event: Event }[]).map(({ event }) => event);
  const told = events.find((event) => event.type === "told");
  const certified = events.find((event) => event.type === "certified");
  if (told?.frame.type !== "train" || !certified) throw new Error("The story begins with a round.");
  const order = orderFor(3, 20_000, { round: 1, group: 0, members: CLIENTS, patience: 1 });
  return { plan: told.frame, order, certificate: certified.certificate };
}

let pages: ServerlessPage[] = [];
let peer: PythonMember | null = null;
afterEach(() => {
  for (const page of pages) page.close();
  peer?.kill();
});

test("two pages follow a Python peer, one measures, and who reaches the server tells the others", async () => {
  pages = [new ServerlessPage(ONE, 0, WEIGHTS[0]), new ServerlessPage(THREE, 2, WEIGHTS[2])];
  const [one, three] = pages as [ServerlessPage, ServerlessPage];
  peer = new PythonMember();
  for (const { links } of pages) await links.listen();
  const port = await peer.port();
  one.links.connect(three.links.port);
  for (const { links } of pages) links.connect(port);
  await peer.link(PEER, [], 2);
  await vi.waitFor(() => expect(pages.map(({ linked }) => linked)).toEqual([2, 2]), WAIT);

  const { plan, order, certificate } = firstRound();
  const { weights } = certificate;
  const exam: Evaluate = { type: "evaluate", round: 1, version: 1, weights, shards: [], seconds: 10 };
  one.live({ plan, order, certificate, exam });
  three.live({ plan, order, certificate });
  const led = await peer.lead(
    [
      { type: "reached", run: certificate.run },
      { type: "told", frame: plan },
      { type: "averaged", order, weights },
      { type: "certified", certificate },
      { type: "deserted", busy: false },
    ],
    1,
    WEIGHTS[1],
  );

  await vi.waitFor(() => expect([one.ended, three.ended]).toEqual([led, led]), WAIT);
  expect(led).toMatchObject({ survivors: [0, 1, 2], fraction: 1 });
  const evaluation = { type: "evaluation", round: 1, version: 1, examples: 40, loss: 0.75, sums: [] };
  for (const { state, runner } of pages) {
    expect(state.inHand.plan?.round).toBe(2);
    expect(state.inHand.report?.group).toBeGreaterThanOrEqual(2 ** 40);
    expect(state.enter).toMatchObject({ round: 2, holds: led.sha256 });
    expect(runner.view.finding).toEqual({ client: ONE, evaluation });
  }

  one.reach();
  expect(one.runner.view.peers).toBeNull();
  await vi.waitFor(() => expect(three.hastened).toBe(1), WAIT);
});
