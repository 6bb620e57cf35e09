import type { Backend } from "../../core/backend";
import type { LoadedWorker, RecoveryListener, Trainer } from "../workers/training-worker";
import { retry } from "./retry";

export interface SessionTrainerOptions {
  /** Makes the worker. */
  readonly make: (recovered: RecoveryListener) => Trainer;
  readonly origin: string;
  readonly recovered: RecoveryListener;
  /** The worker is asked again for this reason; null when it answered after all. */
  readonly troubled: (problem: string | null) => void;
  /** Whether the server is away. While it is, the worker is asked without end instead of three more times. */
  readonly away: () => boolean;
  /** The worker failed for the last time. */
  readonly gaveUp: (problem: string) => void;
}

/** Returns what computes the same bits everywhere; null if the loaded backend does not. */
export function programOf({ backend }: LoadedWorker, program: string | null): string | null {
  return backend === "exact" ? program : null;
}

export class SessionTrainer {
  readonly #options: SessionTrainerOptions;
  #current: Trainer | null = null;

  constructor(options: SessionTrainerOptions) {
    this.#options = options;
  }

  /** Null before the first bundle is loaded, and after the end. */
  get current(): Trainer | null {
    return this.#current;
  }

  /** Loads the bundle with this backend; with null the worker chooses one. */
  load(bundle: string, backend: Backend | null, isNeeded: () => boolean): Promise<LoadedWorker | null> {
    const { make, recovered, origin } = this.#options;
    this.#current ??= make(recovered);
    return this.retry(isNeeded, (trainer) => trainer.load(origin, bundle, backend));
  }

  /** Asks until the worker answers; returns null if the answer is no longer needed or no retry succeeded. */
  retry<A>(
    isNeeded: () => boolean,
    ask: (trainer: Trainer) => Promise<A>,
    gaveUp = this.#options.gaveUp,
  ): Promise<A | null> {
    const trainer = this.#current;
    if (trainer === null) return Promise.resolve(null);
    const { troubled, away } = this.#options;
    return retry({
      isNeeded: () => trainer === this.#current && isNeeded(),
      ask: () => ask(trainer),
      troubled,
      tireless: away,
      gaveUp,
    });
  }

  /** Ends the worker after it has saved its state. */
  end(): void {
    const trainer = this.#current;
    this.#current = null;
    void trainer?.end();
  }
}
