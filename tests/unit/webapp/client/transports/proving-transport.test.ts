import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type ProofProgress,
  ProvingTransport,
} from "../../../../../webapp/static/src/client/transports/proving-transport";
import type { Transport } from "../../../../../webapp/static/src/client/transports/socket";
import type { Prover } from "../../../../../webapp/static/src/client/workers/work-proof-worker";
import { PARTS, search } from "../../../../../webapp/static/src/core/crypto/proof-of-work";

const CHALLENGE = `1700000000.${"5a".repeat(32)}`;

interface Sent {
  readonly method: string;
  readonly body: unknown;
}

const proveHere: Prover = async ({ seed, bits }, found) => {
  const nonces: number[] = [];
  for (let part = 0; part < PARTS; part += 1) {
    nonces.push(search(seed, part, bits, 0, 2 ** 20) ?? -1);
    found(part + 1);
  }
  return nonces;
};

let sent: Sent[] = [];
let opened = 0;
let closed = 0;
let progress: (ProofProgress | null)[] = [];

const inner: Transport = {
  address: "ws://minga/",
  buffered: 0,
  open: () => {
    opened += 1;
  },
  send: () => undefined,
  close: () => undefined,
};
const events = {
  opened: () => undefined,
  received: () => undefined,
  closed: () => {
    closed += 1;
  },
};

function transport(prove = proveHere): ProvingTransport {
  const progressed = (shown: ProofProgress | null) => progress.push(shown);
  return new ProvingTransport(inner, { challenges: async () => "/challenges/me", prove, progressed });
}

function serve(answer: (method: string) => Response): void {
  vi.stubGlobal("fetch", async (_address: string, { method = "GET", body = null }: RequestInit) => {
    sent.push({ method, body: body === null ? null : JSON.parse(body as string) });
    return answer(method);
  });
}

beforeEach(() => {
  [sent, opened, closed, progress] = [[], 0, 0, []];
});
afterEach(() => vi.unstubAllGlobals());

describe("A connection to a task that asks for proofs of work", () => {
  test("opens at once where nothing is asked", async () => {
    serve(() => Response.json({ challenge: null }));
    transport().open(events);
    await vi.waitFor(() => expect(opened).toBe(1));
    expect(sent.map(({ method }) => method)).toEqual(["GET"]);
  });

  test("opens after the proof, and says how far it is", async () => {
    serve((method) =>
      method === "GET"
        ? Response.json({ challenge: CHALLENGE, bits: 8 })
        : new Response(null, { status: 204 }),
    );
    transport().open(events);
    await vi.waitFor(() => expect(opened).toBe(1));
    expect(sent[1]?.body).toMatchObject({ challenge: CHALLENGE, nonces: { length: PARTS } });
    expect(progress[0]).toEqual({ share: 0, seconds: null });
    expect(progress.at(-2)).toEqual({ share: 1, seconds: 0 });
    expect(progress.at(-1)).toBeNull();
  });

  test.each([
    ["the server is away", () => new Response(null, { status: 503 })],
    ["the challenge is none", () => Response.json({ challenge: "17", bits: 8 })],
    ["more work is asked for than a page gives", () => Response.json({ challenge: CHALLENGE, bits: 40 })],
  ])("closes if %s", async (_, answer) => {
    serve(answer);
    transport().open(events);
    await vi.waitFor(() => expect(closed).toBe(1));
    expect(opened).toBe(0);
  });

  test("closes if the proof is refused", async () => {
    serve((method) =>
      method === "GET"
        ? Response.json({ challenge: CHALLENGE, bits: 8 })
        : new Response(null, { status: 403 }),
    );
    transport().open(events);
    await vi.waitFor(() => expect(closed).toBe(1));
  });

  test("leaves a refusal to the socket, which says the reason", async () => {
    serve(() => new Response(null, { status: 404 }));
    transport().open(events);
    await vi.waitFor(() => expect(opened).toBe(1));
  });

  test("ends the proof when the volunteer stops", async () => {
    serve(() => Response.json({ challenge: CHALLENGE, bits: 8 }));
    let aborted = false;
    const proving = transport(
      (_, __, signal) =>
        new Promise((___, reject) => {
          signal.addEventListener("abort", () => {
            aborted = true;
            reject(new Error("Ended."));
          });
        }),
    );
    proving.open(events);
    await vi.waitFor(() => expect(progress).toHaveLength(1));
    proving.close();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect([aborted, opened, closed]).toEqual([true, 0, 0]);
    expect(progress.at(-1)).toBeNull();
  });
});
