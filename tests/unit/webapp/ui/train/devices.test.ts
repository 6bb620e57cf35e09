// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  storeDevicesKey,
  storedDevicesKey,
} from "../../../../../webapp/static/src/client/session/devices-key";
import { requireElement } from "../../../../../webapp/static/src/ui/lib/dom";
import { bindDevices } from "../../../../../webapp/static/src/ui/train/devices";

const KEY = `minga_devices_${"k".repeat(43)}`;
const TOKEN = "t".repeat(43);
const DONE: Record<string, { accepted: number; examples: number }> = {
  aaaaaaaaaaaaaaaa: { accepted: 2, examples: 30 },
  bbbbbbbbbbbbbbbb: { accepted: 1, examples: 10 },
};

let sent: { method: string; address: string; body: unknown }[];

beforeEach(() => {
  sent = [];
  vi.stubGlobal("fetch", async (address: string, options: { method?: string; body?: string }) => {
    const body = options.body ? JSON.parse(options.body) : null;
    sent.push({ method: options.method ?? "GET", address, body });
    if (options.method === "DELETE") return new Response(null, { status: 204 });
    if (options.method === "PUT") {
      const devices = Object.keys(DONE).map((client, index) => ({ client, name: index ? "Lab" : "" }));
      return Response.json({ name: "Teal otter", devices });
    }
    const client = address.split("client=")[1] ?? "";
    return Response.json({ contributions: [{ client, ...DONE[client] }] });
  });
  document.body.innerHTML = `<details data-devices><div data-devices-apart>
      <button data-devices-begin></button><form data-devices-form><input data-devices-key></form></div>
    <div data-devices-linked hidden><p data-devices-known></p><ul data-devices-list></ul>
      <button data-devices-copy></button><button data-devices-end></button></div>
    <p data-devices-problem></p></details>`;
});
afterEach(() => {
  vi.unstubAllGlobals();
  storeDevicesKey(null);
});

function lines(): string[] {
  return [...document.querySelectorAll("[data-devices-list] li")].map(({ textContent }) => textContent ?? "");
}

test("a first device makes a key, which only bodies of requests have", async () => {
  bindDevices(document.body, "digits", TOKEN);
  requireElement(document, "devices-begin").click();
  await vi.waitFor(() => expect(lines()).toHaveLength(3));
  expect(storedDevicesKey()).toMatch(/^minga_devices_/);
  expect(sent.filter(({ method }) => method === "PUT")[0]?.body).toEqual({
    key: storedDevicesKey(),
    token: TOKEN,
  });
  expect(sent.some(({ address }) => address.includes("minga_devices_"))).toBe(false);
  expect(document.body.innerHTML).not.toContain(storedDevicesKey());
  expect(requireElement(document, "devices-known").textContent).toContain("Teal otter");
});

test("the contributions of all devices are listed and added up", async () => {
  storeDevicesKey(KEY);
  bindDevices(document.body, "digits", TOKEN);
  requireElement<HTMLDetailsElement>(document, "devices").open = true;
  await vi.waitFor(() => expect(lines()).toHaveLength(3));
  expect(lines()[1]).toBe("Lab: 1 contribution · 10 examples");
  expect(lines()[2]).toBe("Together in this task: 3 contributions · 40 examples");
});

test("a text that is no key is not sent", () => {
  bindDevices(document.body, "digits", TOKEN);
  requireElement<HTMLInputElement>(document, "devices-key").value = "bbbbbbbbbbbbbbbb";
  requireElement(document, "devices-form").dispatchEvent(new Event("submit"));
  expect(requireElement(document, "devices-problem").textContent).not.toBe("");
  expect(sent).toEqual([]);
});

test("a device that is unlinked forgets the key", async () => {
  storeDevicesKey(KEY);
  bindDevices(document.body, "digits", TOKEN);
  requireElement(document, "devices-end").click();
  await vi.waitFor(() => expect(storedDevicesKey()).toBeNull());
  expect(sent).toContainEqual({ method: "DELETE", address: "/api/devices", body: { token: TOKEN } });
  expect(requireElement(document, "devices-apart").hidden).toBe(false);
});
