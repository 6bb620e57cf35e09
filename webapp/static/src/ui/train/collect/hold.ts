/** A button that takes one picture or recording when it is pressed, and more while it is held. */

const PAUSE_MS = 250;
/** A held button stops by itself, so that a phone's memory is not filled. */
const MOST = 100;

/**
 * Calls `take` when `button` is pressed, and again while it is held, with the number of what it took so far; `done` gets
 * all of it at the end.
 */
export function bindHold(
  button: HTMLElement,
  take: (taken: number) => Promise<Blob | null>,
  done: (pictures: readonly Blob[]) => Promise<void>,
): void {
  let held = false;
  let busy = false;

  async function record(): Promise<void> {
    if (busy) return;
    busy = true;
    const pictures: Blob[] = [];
    try {
      do {
        const picture = await take(pictures.length);
        // The camera or the microphone was turned off meanwhile.
        if (picture === null) break;
        pictures.push(picture);
        if (held) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      } while (held && pictures.length < MOST);
      await done(pictures);
    } finally {
      busy = false;
    }
  }

  button.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    button.setPointerCapture(event.pointerId);
    held = true;
    void record();
  });
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) {
    button.addEventListener(name, () => {
      held = false;
    });
  }
  // A long press would open a menu on phones.
  button.addEventListener("contextmenu", (event) => event.preventDefault());
  // Keys and assistive technology click without a pointer.
  button.addEventListener("click", (event) => {
    if (event.detail === 0) void record();
  });
}
