/** The answer of `POST /api/drafts/{id}/estimate`, and its texts (docs/reference/drafts.md#costs). */

import { say } from "../../../i18n/texts/owners/plan";

type Range = readonly [number, number];

export interface Proposal {
  readonly key: string;
  readonly value: number | null;
  readonly reason: string;
}

export interface Costs {
  readonly volunteers: number;
  readonly clients: number;
  readonly rounds: number;
  readonly examples: number;
  readonly steps: number;
  readonly visits: number;
  readonly once: number;
  readonly down: number;
  readonly up: number;
  readonly data: number;
  readonly volunteer_bytes: number;
  readonly volunteer_energy: Range;
  readonly server_out: number;
  readonly server_in: number;
  readonly server_bytes: number;
  readonly energy: Range;
  readonly devices: readonly {
    readonly device: string;
    readonly backend: string;
    readonly training: Range;
    readonly transfer: number;
    readonly round: Range;
    readonly in_time: "all" | "some" | "none";
  }[];
  readonly notes: readonly string[];
  /** What the same bits everywhere cost and buy, in sentences. */
  readonly exactness: readonly string[];
  /** For a plan of work units: the figures of a round are those of a unit, the server's those of an epoch. */
  readonly units: { readonly an_epoch: number; readonly leases: number; readonly seconds: number } | null;
}

export interface CostPreview {
  readonly problem: string | null;
  readonly waits: string | null;
  readonly estimate: Costs | null;
  readonly supply?: { readonly examples: number; readonly counted: boolean };
  readonly batch_size?: number;
  readonly optimizer?: { readonly name: string; readonly learning_rate: number };
  readonly proposals: readonly Proposal[];
}

/** Returns figures with their names, in the order of display. */
export function costRows(costs: Costs): readonly (readonly [string, string])[] {
  const names = costs.units === null ? say.costs : say.unitCosts;
  const units: readonly (readonly [string, string])[] = costs.units
    ? [[say.unitCosts.units, say.units(costs.units.an_epoch, costs.units.leases)]]
    : [];
  return [
    [names.examples, say.examples(costs.examples, costs.steps)],
    ...units,
    [names.visits, say.visits(costs.visits)],
    [names.once, say.bytes(costs.once + costs.data)],
    [names.each, say.round(costs.down, costs.up)],
    [names.volunteer, say.bytes(costs.volunteer_bytes)],
    [names.server, say.bytes(costs.server_out)],
    [names.receives, say.bytes(costs.server_in)],
    [names.total, say.bytes(costs.server_bytes)],
    [names.energy, say.energy(costs.volunteer_energy)],
    [names.all, say.energy(costs.energy)],
  ];
}

/** Returns a row for each class of devices. */
export function deviceRows(costs: Costs): readonly (readonly string[])[] {
  const words = costs.units === null ? say.inTime : say.getsUnits;
  return costs.devices.map(({ device, backend, training, transfer, in_time }) => [
    say.device(device, backend),
    say.seconds(training),
    say.time(transfer),
    words[in_time],
  ]);
}
