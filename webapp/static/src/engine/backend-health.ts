/** Detects when a backend can no longer be trusted: lost contexts, exhausted memory, NaN or infinite numbers. */

import { backend } from "@tensorflow/tfjs-core";
import type { FailureKind } from "../core/backend-recovery";
import { later } from "../core/user-messages";

const SENTENCES: Readonly<Record<FailureKind, string>> = {
  lost: later("The graphics card was taken away from this page."),
  memory: later("This device does not have enough memory for a training step."),
  "not-a-number": later("The training became unstable: its loss is no longer a number."),
};

/** A failure of the backend, not of the task. */
export class BackendFailure extends Error {
  override readonly name = "BackendFailure";

  constructor(readonly kind: FailureKind) {
    super(SENTENCES[kind]);
  }
}

/** Messages of browsers and TF.js when memory runs out; none of them has a code for it. */
const MEMORY =
  /out of memory|allocation failed|could not allocate|memory access out of bounds|cannot enlarge memory|invalid (typed )?array length|unable to create webgltexture|requested texture size|createbuffer.*failed|invalid buffer/i;

/** Returns the failure that an error of a kernel stands for; null for other errors. */
export function failureOf(error: unknown): BackendFailure | null {
  if (error instanceof BackendFailure) return error;
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  if (/context (was )?lost|device (was |is )?lost|CONTEXT_LOST/i.test(text))
    return new BackendFailure("lost");
  return MEMORY.test(text) ? new BackendFailure("memory") : null;
}

/** The parts of TF.js' GPU backends that are used here. */
interface GpuBackend {
  readonly gpgpu?: { readonly gl: WebGL2RenderingContext & { readonly canvas: EventTarget } };
  readonly device?: EventTarget & { readonly lost: Promise<{ readonly reason?: string }> };
}

/** Watches the current backend. A lost GPU raises no error: reading from it never ends or gives zeros. */
export class HealthWatch {
  #failure: BackendFailure | null = null;
  readonly #failed: Promise<never>;

  constructor() {
    const { gpgpu, device } = backend() as unknown as GpuBackend;
    this.#failed = new Promise((_, reject) => {
      const fail = (failure: BackendFailure | null) => {
        if (failure === null) return;
        this.#failure ??= failure;
        reject(failure);
      };
      gpgpu?.gl.canvas.addEventListener("webglcontextlost", () => fail(new BackendFailure("lost")));
      if (gpgpu?.gl.isContextLost()) fail(new BackendFailure("lost"));
      device?.lost.then(({ reason }) => {
        if (reason !== "destroyed") fail(new BackendFailure("lost"));
      });
      device?.addEventListener("uncapturederror", (event) => {
        fail(failureOf((event as Event & { error?: unknown }).error));
      });
    });
    // Most trainings end without a pending read; the rejection must not count as unhandled.
    this.#failed.catch(() => undefined);
  }

  /** Reads from the backend. Rejects with a BackendFailure if it is lost meanwhile. */
  async read<T>(reading: Promise<T>): Promise<T> {
    const value = await Promise.race([reading, this.#failed]);
    if (this.#failure !== null) throw this.#failure;
    return value;
  }

  /** Throws a BackendFailure if one of the numbers is NaN or infinite. */
  checkNumbers(values: ArrayLike<number>): void {
    for (let i = 0; i < values.length; i++) {
      if (!Number.isFinite(values[i])) throw new BackendFailure("not-a-number");
    }
  }
}
