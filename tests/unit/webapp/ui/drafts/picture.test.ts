// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { bindPicture } from "../../../../../webapp/static/src/ui/drafts/picture";

const DRAWN = { kind: "drawn", tag: "aa", text: "", drawable: true, uploaded: false };
const UPLOADED = { kind: "uploaded", tag: "bb", text: "", drawable: true, uploaded: true };
const WOVEN = { kind: "woven", tag: "", text: "", drawable: true, uploaded: true };

const part = <E extends HTMLElement>(name: string) => document.querySelector(`[data-picture-${name}]`) as E;
const choice = (kind: string) => document.querySelector(`input[value="${kind}"]`) as HTMLInputElement;
const image = () => part<HTMLImageElement>("image");
let asked: [method: string, body: unknown][];
let answer: (method: string) => Response;
let saved: () => Promise<void>;

beforeEach(() => {
  const radios = ["drawn", "woven", "uploaded"].map(
    (kind) => `<input type="radio" name="picture" value="${kind}"${kind === "uploaded" ? " disabled" : ""}>`,
  );
  document.body.innerHTML = `<section data-picture="/api/tasks/birds/picture" data-picture-source="/tasks/birds/picture">
    <img data-picture-image><div data-picture-woven hidden></div>
    <form data-picture-form>${radios.join("")}
      <input type="file" data-picture-file>
      <label data-picture-words hidden><input type="text" data-picture-text></label>
    </form>
    <p data-picture-busy></p><p data-picture-problem></p></section>`;
  choice("drawn").checked = true;
  asked = [];
  answer = () => Response.json(DRAWN);
  vi.stubGlobal("fetch", async (address: string, { method, body }: { method: string; body: unknown }) => {
    expect(address).toBe("/api/tasks/birds/picture");
    asked.push([method, typeof body === "string" ? JSON.parse(body) : body]);
    return answer(method);
  });
  saved = bindPicture(document.querySelector("[data-picture]") as HTMLElement);
});
afterEach(() => vi.unstubAllGlobals());

async function changed(input: HTMLInputElement): Promise<void> {
  input.dispatchEvent(new Event("change", { bubbles: true }));
  await saved();
}

async function chooseFile(file: Blob): Promise<void> {
  Object.defineProperty(part("file"), "files", { configurable: true, value: [file] });
  await changed(part("file"));
}

test("an uploaded file is sent as it is, and what the server made of it is shown", async () => {
  answer = () => Response.json(UPLOADED);
  const file = new Blob(["x"], { type: "image/png" });
  await chooseFile(file);
  expect(asked).toEqual([["PUT", file]]);
  expect(image().getAttribute("src")).toBe("/tasks/birds/picture?v=bb");
  expect([choice("uploaded").checked, choice("uploaded").disabled]).toEqual([true, false]);
  expect([part("words").hidden, part("busy").textContent]).toEqual([false, ""]);
});

test("a text goes with an uploaded picture", async () => {
  answer = () => Response.json({ ...UPLOADED, text: "A llama." });
  part<HTMLInputElement>("text").value = " A llama. ";
  await changed(part("text"));
  expect(asked).toEqual([["PATCH", { text: "A llama." }]]);
  expect(image().alt).toBe("A llama.");
});

test("the woven pattern takes the place of the image", async () => {
  answer = () => Response.json(WOVEN);
  choice("woven").checked = true;
  await changed(choice("woven"));
  expect(asked).toEqual([["PATCH", { kind: "woven" }]]);
  expect([image().hidden, part("woven").hidden]).toEqual([true, false]);
});

test("a refused file is said, and the task's picture stays", async () => {
  const error = { code: "refused-file", message: "This picture moves." };
  answer = (method) => (method === "GET" ? Response.json(DRAWN) : Response.json({ error }, { status: 422 }));
  await chooseFile(new Blob(["x"], { type: "image/webp" }));
  expect(asked.map(([method]) => method)).toEqual(["PUT", "GET"]);
  expect(part("problem").textContent).toBe("This picture moves.");
  expect([choice("drawn").checked, part("busy").textContent]).toEqual([true, ""]);
});

test("a file that is too large is not sent", async () => {
  await chooseFile({ size: 5_000_001, type: "image/png" } as Blob);
  expect(asked.filter(([method]) => method === "PUT")).toEqual([]);
  expect(part("problem").textContent).toContain("5 MB");
});
