// @vitest-environment happy-dom
import { afterEach, describe, expect, it, vi } from "vitest";
import type { OwnFile } from "../../../../../../webapp/static/src/core/messages/data-reader";
import type { DataSpec, TextSpec } from "../../../../../../webapp/static/src/core/preprocessing/declaration";
import { Camera, problemOf } from "../../../../../../webapp/static/src/ui/train/collect/camera";
import {
  classOf,
  isCollected,
  nextNumber,
  pictureFile,
  soundFile,
  textFile,
} from "../../../../../../webapp/static/src/ui/train/collect/example-files";
import { bindHold } from "../../../../../../webapp/static/src/ui/train/collect/hold";
import { canCollect } from "../../../../../../webapp/static/src/ui/train/collect/offer";

const LABEL = { kind: "class", classes: ["kind", "un/kind"], encoding: "index" } as const;

function rule(change: Partial<TextSpec>): TextSpec {
  return { text_column: null, label_column: null, delimiter: ",", label: LABEL, ...change } as TextSpec;
}

function spec(preprocess: object): DataSpec {
  return { preprocess } as unknown as DataSpec;
}

describe("files of collected examples", () => {
  it("lie in the folder of their class, numbered on", () => {
    const picture = new Blob(["x"], { type: "image/jpeg" });
    const first = pictureFile(picture, "cat", 1);
    expect(first.path).toBe("cat/collected-1.jpg");
    expect(pictureFile(new Blob(["x"], { type: "image/png" }), "cat", 7).path).toBe("cat/collected-7.png");
    const others: OwnFile[] = [{ path: "cat/7.jpg", file: first.file }, first];
    expect(others.map(isCollected)).toEqual([false, true]);
    expect(nextNumber(others)).toBe(2);
    expect(nextNumber([])).toBe(1);
    expect(classOf(first)).toBe("cat");
  });

  it("hold recordings as WAV files", () => {
    const sound = soundFile(new Blob(["RIFF"], { type: "audio/wav" }), "yes", 3);
    expect([sound.path, sound.file.type, isCollected(sound)]).toEqual([
      "yes/collected-3.wav",
      "audio/wav",
      true,
    ]);
  });

  it("hold texts as the task reads them", async () => {
    const folder = textFile(rule({}), "thanks", "kind", 2);
    expect([folder.path, await folder.file.text()]).toEqual(["kind/collected-2.txt", "thanks"]);
    const plain = textFile(rule({ label: null }), "thanks", "", 3);
    expect([plain.path, classOf(plain)]).toEqual(["collected-3.txt", null]);
    const columns = rule({ text_column: "t", label_column: "l", delimiter: ";" });
    const table = textFile(columns, 'say "a;\nb"', "kind", 4);
    expect(table.path).toBe("collected-4.csv");
    expect(await table.file.text()).toBe('"t";"l"\n"say ""a;\nb""";"kind"\n');
  });
});

it("is offered for pictures, recordings and texts only", () => {
  expect(canCollect(spec({ kind: "image", label: LABEL }))).toBe(true);
  expect(canCollect(spec({ kind: "image", label: { kind: "number" } }))).toBe(false);
  expect(canCollect(spec({ kind: "audio", label: LABEL }))).toBe(true);
  expect(canCollect(spec({ kind: "text", label: null }))).toBe(true);
  expect(canCollect(spec({ kind: "table" }))).toBe(false);
  expect(canCollect(spec({ kind: "array" }))).toBe(false);
});

describe("the camera", () => {
  it("says what to do where it is refused, missing or taken", () => {
    expect(problemOf(new DOMException("", "NotAllowedError"))).toContain("is blocked. Allow it");
    expect(problemOf(new DOMException("", "NotFoundError"))).toContain("No camera was found");
    expect(problemOf(new DOMException("", "NotReadableError"))).toContain("another program");
  });

  it("needs HTTPS", async () => {
    vi.stubGlobal("navigator", {});
    const camera = new Camera(document.createElement("video"));
    await expect(camera.start()).rejects.toThrow("HTTPS");
    expect(await camera.picture()).toBeNull();
    vi.unstubAllGlobals();
  });
});

describe("a button that is held", () => {
  afterEach(() => vi.useRealTimers());

  it("takes one picture at a click of the keyboard, several while it is held, and stops by itself", async () => {
    vi.useFakeTimers();
    const button = document.createElement("button");
    button.setPointerCapture = () => undefined;
    const done: number[] = [];
    let off = false;
    bindHold(
      button,
      async () => (off ? null : new Blob()),
      async (pictures) => void done.push(pictures.length),
    );
    button.dispatchEvent(new MouseEvent("click", { detail: 0 }));
    await vi.advanceTimersByTimeAsync(10);
    expect(done).toEqual([1]);
    button.dispatchEvent(new PointerEvent("pointerdown", { button: 0 }));
    await vi.advanceTimersByTimeAsync(600);
    button.dispatchEvent(new PointerEvent("pointerup"));
    await vi.advanceTimersByTimeAsync(300);
    expect(done).toEqual([1, 3]);
    button.dispatchEvent(new PointerEvent("pointerdown", { button: 0 }));
    await vi.advanceTimersByTimeAsync(300);
    off = true;
    await vi.advanceTimersByTimeAsync(300);
    expect(done).toEqual([1, 3, 2]);
  });
});
