// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { requireElement } from "../../../../../webapp/static/src/ui/lib/dom";
import { bindInvite } from "../../../../../webapp/static/src/ui/task/invite";

beforeEach(() => {
  document.body.innerHTML = `<button data-invite hidden></button><p data-toast></p>
    <dialog data-invite-dialog data-address="/tasks/digits" data-code="/tasks/digits/qr.svg"
      data-link="Train <b>digits</b> with us"><input data-invite-address>
      <p data-invite-alone></p><button data-invite-copy></button><button data-invite-send></button>
      <img data-invite-qr><textarea data-invite-embed></textarea><button data-embed-copy></button></dialog>`;
});
afterEach(() => vi.unstubAllGlobals());

function copying(writeText: (text: string) => Promise<void>): void {
  vi.stubGlobal("navigator", { clipboard: { writeText } });
}

test("the dialog shows the full address, and says when others cannot reach it", () => {
  bindInvite();
  expect(requireElement<HTMLInputElement>(document, "invite-address").value).toBe(
    `${location.origin}/tasks/digits`,
  );
  expect(requireElement(document, "invite-alone").hidden).toBe(location.hostname !== "localhost");
  expect(requireElement(document, "invite").hidden).toBe(false);
});

test("the button copies the address and says so", async () => {
  const copied: string[] = [];
  copying(async (text) => void copied.push(text));
  bindInvite();
  requireElement(document, "invite-copy").click();
  await vi.waitFor(() => expect(requireElement(document, "toast").textContent).not.toBe(""));
  expect(copied).toEqual([`${location.origin}/tasks/digits`]);
});

test("the link for web pages has the full address, and its text is no markup", async () => {
  const copied: string[] = [];
  copying(async (text) => void copied.push(text));
  bindInvite();
  requireElement(document, "embed-copy").click();
  await vi.waitFor(() => expect(copied).toHaveLength(1));
  expect(copied[0]).toBe(
    `<a href="${location.origin}/tasks/digits">Train &lt;b&gt;digits&lt;/b&gt; with us</a>`,
  );
});

test("the code to scan is fetched when the dialog opens, not before", () => {
  bindInvite();
  const code = requireElement<HTMLImageElement>(document, "invite-qr");
  expect(code.src).toBe("");
  requireElement(document, "invite").click();
  expect(code.src).toContain("/tasks/digits/qr.svg");
});

test("without access to the clipboard, the page says something else", async () => {
  copying(async () => undefined);
  bindInvite();
  requireElement(document, "invite-copy").click();
  await vi.waitFor(() => expect(requireElement(document, "toast").textContent).not.toBe(""));
  const copied = requireElement(document, "toast").textContent;
  copying(async () => Promise.reject(new DOMException("Not here.", "NotAllowedError")));
  requireElement(document, "invite-copy").click();
  await vi.waitFor(() => expect(requireElement(document, "toast").textContent).not.toBe(copied));
});

test("a device that cannot share has no share button", () => {
  vi.stubGlobal("navigator", {});
  bindInvite();
  expect(requireElement(document, "invite-send").hidden).toBe(true);
});
