/** Members of a group in Python (tests/support/peer/tcp_member.py), each in a process of its own. */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { encodeMesh, type GroupOrder } from "../../../../../webapp/static/src/protocol/wire/mesh";

const ROOT = fileURLToPath(new URL("../../../../..", import.meta.url));

/** What came of it: a result, or the reason why there is none. */
export interface Told {
  readonly sha256?: string;
  readonly survivors?: readonly number[];
  readonly fraction?: number;
  readonly reason?: string;
}

export class PythonMember {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #errors = "";

  constructor() {
    this.#process = spawn(".venv/bin/python", ["-m", "tests.support.peer.tcp_member"], {
      cwd: ROOT,
      env: { ...process.env, PYTHONPATH: ROOT },
    });
    this.#process.stderr.on("data", (text: Buffer) => {
      this.#errors += text.toString();
    });
    this.#lines = createInterface(this.#process.stdout)[Symbol.asyncIterator]();
  }

  /** The port where it listens. */
  async port(): Promise<number> {
    return Number(await this.#line());
  }

  /** Says that it is `own`, connects to those who listen at `ports`, and waits for as many links as there are `others`. */
  async link(own: string, ports: readonly number[], others: number): Promise<void> {
    this.#say({ own, connect: ports, others });
    await this.#line();
  }

  async average(order: GroupOrder, place: number, weight: number): Promise<Told> {
    this.#say({ order: Buffer.from(encodeMesh(order)).toString("hex"), weight, draw: place });
    return JSON.parse(await this.#line()) as Told;
  }

  /** Leads a round without a server, from where these events bring it, and averages in it. */
  async lead(events: readonly object[], place: number, weight: number): Promise<Told> {
    this.#say({ events, weight, draw: place });
    return JSON.parse(await this.#line()) as Told;
  }

  #say(told: object): void {
    this.#process.stdin.write(`${JSON.stringify(told)}\n`);
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  async #line(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`The member in Python ended: ${this.#errors}`);
    return value;
  }
}
