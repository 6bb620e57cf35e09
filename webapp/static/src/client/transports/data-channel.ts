/**
 * A link by WebRTC: two ordered channels that both ends agreed on beforehand, so that none has to be negotiated. Each
 * attempt has a connection of its own; after a failure a new session is tried, and no connection is repaired.
 */

import type { Candidate, SignalBody } from "../../protocol/mesh/signals";
import { type Channel, type ChannelEvents, MOST_MESSAGE_BYTES, roomIn } from "./channel";

export class DataChannelLink implements Channel {
  readonly way = "webrtc";
  readonly room = roomIn(MOST_MESSAGE_BYTES);
  readonly #peer: RTCPeerConnection;
  readonly #control: RTCDataChannel;
  readonly #bulk: RTCDataChannel;
  readonly #sendSignal: (body: SignalBody) => void;
  readonly #events: ChannelEvents;
  /** Candidates that arrived before the description that they belong to. */
  #early: (Candidate | null)[] = [];
  #open = false;
  #ended = false;
  #resolveEnd: () => void = () => undefined;
  /** Browsers never answer what a connection was asked when it is closed: who waits must not wait for that alone. */
  readonly #end = new Promise<void>((resolve) => {
    this.#resolveEnd = resolve;
  });

  constructor(
    readonly session: Uint8Array,
    configuration: RTCConfiguration,
    tell: (body: SignalBody) => void,
    events: ChannelEvents,
  ) {
    this.#sendSignal = tell;
    this.#events = events;
    this.#peer = new RTCPeerConnection(configuration);
    this.#peer.onicecandidate = ({ candidate }) => this.#sendCandidate(candidate);
    this.#peer.onconnectionstatechange = () => {
      if (this.#peer.connectionState === "failed") this.#lost();
    };
    this.#control = this.#channel("control", 0);
    this.#bulk = this.#channel("bulk", 1);
  }

  get open(): boolean {
    return this.#open;
  }

  get buffered(): number {
    return this.#bulk.bufferedAmount + this.#control.bufferedAmount;
  }

  /** Sends the first description of the session. */
  async begin(): Promise<void> {
    await Promise.race([this.#describe(), this.#end]);
  }

  async receiveSignal(body: SignalBody): Promise<void> {
    await Promise.race([this.#apply(body), this.#end]);
  }

  async #apply(body: SignalBody): Promise<void> {
    if (this.#ended) return;
    if (body.kind === "candidate") await this.#candidate(body.body);
    if (body.kind !== "description" || this.#peer.remoteDescription !== null) return;
    await this.#peer.setRemoteDescription(body.body);
    const early = this.#early;
    this.#early = [];
    for (const candidate of early) await this.#candidate(candidate);
    if (body.body.type === "offer") await this.#describe();
  }

  send(frame: Uint8Array<ArrayBuffer>, bulk: boolean): void {
    const channel = bulk ? this.#bulk : this.#control;
    if (channel.readyState === "open") channel.send(frame);
  }

  notice(below: number): void {
    this.#bulk.bufferedAmountLowThreshold = below - 1;
  }

  close(): void {
    this.#ended = true;
    this.#open = false;
    this.#peer.close();
    this.#resolveEnd();
  }

  #channel(name: string, id: number): RTCDataChannel {
    const channel = this.#peer.createDataChannel(name, { negotiated: true, id, ordered: true });
    channel.binaryType = "arraybuffer";
    channel.onopen = () => this.#opened();
    channel.onclose = () => this.#lost();
    channel.onbufferedamountlow = () => this.#events.drained();
    channel.onmessage = ({ data }) => {
      // Text is no frame of this protocol; as empty bytes it is refused like any other invalid frame.
      if (!this.#ended)
        this.#events.received(data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array());
    };
    return channel;
  }

  async #describe(): Promise<void> {
    await this.#peer.setLocalDescription();
    const made = this.#peer.localDescription;
    if (made === null || this.#ended) return;
    if (made.type !== "offer" && made.type !== "answer") return;
    this.#sendSignal({ kind: "description", body: { type: made.type, sdp: made.sdp } });
  }

  #sendCandidate(candidate: RTCIceCandidate | null): void {
    if (this.#ended) return;
    // Browsers mark the end of each component's candidates by an empty one, and that of all by null.
    if (candidate?.candidate === "") return;
    const body = candidate && {
      candidate: candidate.candidate,
      sdpMid: candidate.sdpMid,
      sdpMLineIndex: candidate.sdpMLineIndex,
    };
    this.#sendSignal({ kind: "candidate", body });
  }

  async #candidate(candidate: Candidate | null): Promise<void> {
    if (this.#peer.remoteDescription === null) {
      this.#early.push(candidate);
      return;
    }
    // The end of the candidates only lets a failing attempt end sooner, as its time limit does, too.
    if (candidate !== null) await this.#peer.addIceCandidate(candidate);
  }

  #opened(): void {
    if (this.#ended || this.#open) return;
    if (this.#control.readyState !== "open" || this.#bulk.readyState !== "open") return;
    this.#open = true;
    this.#events.opened();
  }

  #lost(): void {
    if (this.#ended) return;
    this.close();
    this.#events.closed();
  }
}
