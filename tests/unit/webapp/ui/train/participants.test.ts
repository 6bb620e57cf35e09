// @vitest-environment happy-dom
import { beforeEach, expect, test } from "vitest";
import type { Participant } from "../../../../../webapp/static/src/protocol/wire/messages";
import { showParticipantList } from "../../../../../webapp/static/src/ui/train/participants";

const ANN: Participant = {
  client: "0000a1",
  kind: "browser",
  backend: "webgl",
  status: "training",
  accepted: 1,
};
const BOB: Participant = {
  client: "0041b2",
  kind: "peer",
  backend: "tensorflow",
  status: "ready",
  accepted: 0,
};

beforeEach(() => {
  document.body.innerHTML = "<ul data-people></ul><b data-people-count></b><p data-people-none></p>";
});

function items(): HTMLLIElement[] {
  return [...document.querySelectorAll("li")];
}

function none(): boolean | undefined {
  return document.querySelector<HTMLElement>("[data-people-none]")?.hidden === false;
}

test("every participant has a line, and your own is marked", () => {
  showParticipantList(document.body, [ANN, BOB], ANN.client);
  expect(items().map(({ className }) => className)).toEqual(["me", ""]);
  expect(items()[0]?.textContent).toMatch(/^You, turquoise llama · Browser, WebGL/);
  expect(items()[0]?.textContent).toMatch(/1 update$/);
  expect(items()[1]?.textContent).toMatch(/^violet alpaca · Peer, /);
  expect(items()[1]?.title ?? "").toBe("");
  expect(items()[1]?.querySelector<HTMLElement>("[title]")?.title).toBe(BOB.client);
  expect(items()[1]?.dataset.status).toBe("ready");
  expect(document.querySelector("[data-people-count]")?.textContent).toBe("2");
  expect(none()).toBe(false);
});

test("a participant who leaves disappears, and an empty list says so", () => {
  showParticipantList(document.body, [ANN, BOB], ANN.client);
  showParticipantList(document.body, [], ANN.client);
  expect(items()).toEqual([]);
  expect(none()).toBe(true);
});

test("no count is shown before the server sends one", () => {
  showParticipantList(document.body, null, null);
  expect(document.querySelector("[data-people-count]")?.textContent).toBe("");
  expect(none()).toBe(true);
});
