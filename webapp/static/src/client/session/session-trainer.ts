import type { Backend } from "../../core/backend";
import type { Loaded, Recovered, Trainer } from "../workers/training-worker";
import { insist } from "./retry";

export interface VisitTrainerOptions {
  /** Makes the worker. */
  readonly make: (recovered: Recovered) => Trainer;
  readonly origin: string;
  readonly recovered: Recovered;
  /** The worker has to be asked again for this reason; null when it answered after all. */
  readonly troubled: (problem: string | null) => void;
  /** Whether the server is away. The worker is asked until it is back then, and not three times more. */
  readonly away: () => boolean;
  /** It failed for the last time. */
  readonly gaveUp: (problem: string) => void;
}

export class VisitTrainer {
  readonly #options: VisitTrainerOptions;
  #current: Trainer | null = null;

  constructor(options: VisitTrainerOptions) {
    this.#options = options;
  }

  /** Null before the first bundle is loaded, and after the end. */
  get current(): Trainer | null {
    return this.#current;
  }

  /** Loads the bundle with this backend; null leaves the choice to the worker. */
  load(bundle: string, backend: Backend | null, wanted: () => boolean): Promise<Loaded | null> {
    const { make, recovered, origin } = this.#options;
    this.#current ??= make(recovered);
    return this.insist(wanted, (trainer) => trainer.load(origin, bundle, backend));
  }

  /** Asks until it answers, or nobody wants the answer any more, or it failed for the last time (null). */
  insist<A>(
    wanted: () => boolean,
    ask: (trainer: Trainer) => Promise<A>,
    gaveUp = this.#options.gaveUp,
  ): Promise<A | null> {
    const trainer = this.#current;
    if (trainer === null) return Promise.resolve(null);
    const { troubled, away } = this.#options;
    return insist({
      wanted: () => trainer === this.#current && wanted(),
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
