import type { Backend } from "../../core/backend";
import type { LoadedWorker, RecoveryListener, Trainer } from "../workers/training-worker";
import { retry } from "./retry";

export interface SessionTrainerOptions {
  /** Makes the worker. */
  readonly make: (recovered: RecoveryListener) => Trainer;
  readonly origin: string;
  readonly recovered: RecoveryListener;
  /** The worker has to be asked again for this reason; null when it answered after all. */
  readonly troubled: (problem: string | null) => void;
  /** Whether the server is away. The worker is asked until it is back then, and not three times more. */
  readonly away: () => boolean;
  /** It failed for the last time. */
  readonly gaveUp: (problem: string) => void;
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

  /** Loads the bundle with this backend; null leaves the choice to the worker. */
  load(bundle: string, backend: Backend | null, isNeeded: () => boolean): Promise<LoadedWorker | null> {
    const { make, recovered, origin } = this.#options;
    this.#current ??= make(recovered);
    return this.retry(isNeeded, (trainer) => trainer.load(origin, bundle, backend));
  }

  /** Asks until it answers, or nobody wants the answer any more, or it failed for the last time (null). */
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

  /** The worker ends when what it keeps is kept. */
  end(): void {
    const trainer = this.#current;
    this.#current = null;
    void trainer?.end();
  }
}
