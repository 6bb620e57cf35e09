/** A server that speaks tus 1.0 from memory, behind an XMLHttpRequest: one upload at a time, as a draft's. */

type Method = "POST" | "HEAD" | "PATCH" | "DELETE";

export class TusServer {
  /** Requests, in their order. */
  readonly log: string[] = [];
  /** Statuses of the next requests of a method, instead of an answer; 0 where the network is lost. */
  readonly troubles: Record<Method, number[]> = { POST: [], HEAD: [], PATCH: [], DELETE: [] };
  /** The next piece is cut off after so many bytes. */
  cutAfter: number | null = null;
  bytes: number[] = [];
  #id = "";
  #length = 0;
  #count = 0;

  constructor(private readonly address: string) {}

  begin(id: string, length: number, bytes: Iterable<number> = []): void {
    this.#id = id;
    this.#length = length;
    this.bytes = [...bytes];
  }

  /** Returns a class that takes the place of XMLHttpRequest. */
  requests(): new () => object {
    const server = this;
    return class {
      readonly upload = {};
      status = 0;
      responseText = "";
      onload: () => void = () => undefined;
      onerror: (error: unknown) => void = () => undefined;
      #asked: readonly [Method, string] = ["HEAD", ""];
      #aborted = false;
      readonly #headers = new Map<string, string>();
      #answer = new Map<string, string>();

      open(method: Method, url: string): void {
        this.#asked = [method, url];
      }
      setRequestHeader(name: string, value: string): void {
        this.#headers.set(name.toLowerCase(), value);
      }
      getResponseHeader(name: string): string | null {
        return this.#answer.get(name.toLowerCase()) ?? null;
      }
      abort(): void {
        this.#aborted = true;
      }
      async send(body: Blob | null): Promise<void> {
        const content = body ? [...new Uint8Array(await body.arrayBuffer())] : [];
        if (this.#aborted) return;
        const [status, headers] = server.answer(...this.#asked, this.#headers, content);
        this.status = status;
        this.#answer = new Map(Object.entries(headers));
        if (status >= 400)
          this.responseText = JSON.stringify({ error: { message: `Refused by ${status}.` } });
        if (status === 0) this.onerror(new Error("lost"));
        else this.onload();
      }
    };
  }

  answer(
    method: Method,
    url: string,
    asked: ReadonlyMap<string, string>,
    content: readonly number[],
  ): readonly [number, Record<string, string>] {
    if (asked.get("tus-resumable") !== "1.0.0") return [412, {}];
    const trouble = this.troubles[method].shift();
    if (trouble !== undefined) return [trouble, {}];
    if (method === "POST") return this.#create(asked);
    const id = url.slice(url.lastIndexOf("/") + 1);
    const offset = asked.get("upload-offset");
    this.log.push([method, id, ...(offset ? [offset] : [])].join(" "));
    if (id !== this.#id || !url.endsWith(`${this.address}/${id}`)) return [404, {}];
    if (method === "DELETE") return [204, {}];
    if (method === "PATCH") {
      if (Number(offset) !== this.bytes.length) return [409, {}];
      const cut = this.cutAfter;
      this.cutAfter = null;
      this.bytes.push(...content.slice(0, cut ?? content.length));
      if (cut !== null) return [0, {}];
    }
    const here = { "upload-offset": String(this.bytes.length), "upload-length": String(this.#length) };
    return [method === "HEAD" ? 200 : 204, here];
  }

  #create(asked: ReadonlyMap<string, string>): readonly [number, Record<string, string>] {
    const length = Number(asked.get("upload-length"));
    const entries = (asked.get("upload-metadata") ?? "").split(",").map((entry) => entry.split(" "));
    const metadata = Object.fromEntries(entries.map(([key, value]) => [key, atob(value ?? "")]));
    this.log.push(`POST ${length} ${JSON.stringify(metadata)}`);
    this.#count += 1;
    this.begin(String(this.#count), length);
    return [201, { location: `http://minga.test${this.address}/${this.#count}` }];
  }
}
