// Written by `python -m scripts.wire_types.command` from backend/wire.

import * as fields from "../fields";

export const PROTOCOL = "minga.1";
export const CHUNK_BYTES = 262144;
export const token = fields.text({ min: 22, max: 64, pattern: /^[A-Za-z0-9_-]+$/ });
export const word = fields.text({ max: 32, pattern: /^[a-z0-9-]+$/ });
export const text = fields.text({ max: 500 });
export const hash = fields.text({ min: 64, max: 64, pattern: /^[0-9a-f]+$/ });
export const count = fields.whole(0);
export const metrics = fields.numbers(16);
export const sums = fields.list(fields.pair, 2048);
export const kind = fields.oneOf("browser", "peer");
export const phase = fields.oneOf("waiting", "training", "evaluating", "aggregating", "paused", "finished");
export const status = fields.oneOf("loading", "ready", "training", "evaluating", "reported", "refused");
export const source = fields.oneOf("server", "clients");
