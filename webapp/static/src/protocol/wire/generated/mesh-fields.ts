// Written by `python -m scripts.wire_types.command` from backend/wire.

import * as fields from "../fields";

export const MESH_PROTOCOL = "minga-mesh.1";
export const MOST_IN_GROUP = 32;
export const MOST_IN_MESH = 1024;
export const MOST_IN_CHAIN = 32;
export const way = fields.oneOf("webrtc", "websocket", "relay");
export const ways = fields.list(way, 3, 1);
export const exchange = fields.oneOf("full", "butterfly", "ring");
export const precision = fields.oneOf("float32", "float16", "int8", "masked");
export const subject = fields.oneOf("changes", "weights");
export const reducer = fields.oneOf("mean", "trimmed_mean", "centered_clip");
export const client = fields.text({ min: 16, max: 16, pattern: /^[0-9a-f]+$/ });
export const place = fields.whole(0, 31);
export const places = fields.list(place, 32);
export const address = fields.text({
  max: 200,
  pattern: /^wss?:\/\/([0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?\/?$/,
});
export const fault = fields.oneOf("gone", "slow", "unfit");
export const memberWeights = fields.list(fields.real, 32);
export const digest = fields.bytesOf(32);
export const held = fields.list(fields.bytesOf(0, 32), 32);
export const groupKey = fields.bytesOf(0, 32);
export const note = fields.bytesOf(1, 16384);
export const parcel = fields.bytesOf(1, 65536);

/** The outer step of DiLoCo (Douillard et al. 2023) that each peer makes; `momentum` is 0 for fedavg. */
export const outer = fields.record({
  kind: fields.oneOf("fedavg", "fedavgm", "nesterov"),
  learning_rate: fields.real,
  momentum: fields.real,
});
