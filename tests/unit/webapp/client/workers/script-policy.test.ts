import { describe, expect, it } from "vitest";
import { ownScript } from "../../../../../webapp/static/src/client/workers/script-policy";

const PAGE = "https://minga.example/tasks/tiny/train";

describe("the scripts that a page starts", () => {
  it.each([
    "/static/dist/assets/main.js",
    "https://minga.example/static/src/workers/training/main.ts?worker",
  ])("are this server's: %s", (address) => {
    expect(ownScript(address, PAGE)).toBe(address);
  });

  it.each([
    "https://stranger.example/static/x.js",
    "//stranger.example/static/x.js",
    "/blobs/00",
    "/static/../blobs/00",
    "data:text/javascript,1",
    "blob:https://minga.example/1",
    "javascript:1",
  ])("are no others: %s", (address) => {
    expect(() => ownScript(address, PAGE)).toThrow("is no script of this server");
  });
});
