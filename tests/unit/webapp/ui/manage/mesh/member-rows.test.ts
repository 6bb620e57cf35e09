/** What the dashboard says of members that check each other, and of their bans. */

import { describe, expect, test } from "vitest";
import {
  type MeshAgreement,
  memberFigures,
  memberRows,
  membersStatus,
  type ShownSeat,
  shortKey,
} from "../../../../../../webapp/static/src/ui/manage/mesh/member-rows";

const [ANN, BOB, CAT, DAN] = ["0000", "0041", "0082", "00c3"].map((start) => start.padEnd(16, "f")) as [
  string,
  string,
  string,
  string,
];
const TERMS = { probation: 100, audits: 5 };
const seat = (client: string, change: Partial<ShownSeat> = {}): ShownSeat => ({
  client,
  absences: [],
  rests_until: null,
  checks_from: null,
  ...change,
});
const STATE: MeshAgreement = {
  round: 1200,
  radius: 0.0625,
  seats: [seat(ANN), seat(BOB), seat(CAT, { absences: [1150, 1198], rests_until: 1204 })],
  newcomers: [{ client: DAN, rounds: 120, audits: 3 }],
  banned: ["3b6a27bcceb6a42d62a3a8d02a6f0d73a0fda0e7c6e0e2d5a3a1c5a4ef4c2f1d"],
  court: [{ target: ANN, round: 1199, validator: BOB, second: null }],
  suspected: [],
  doubtful: [{ target: CAT, round: 1197, validator: BOB, second: null }],
  validating: [{ target: ANN, round: 1200, validator: BOB, second: null }],
};

describe("Members", () => {
  test("are counted by what they are", () => {
    expect(memberFigures(STATE)).toEqual(["1\u202f200", "3", "1", "1", "1", "0.0625"]);
    expect(memberFigures({ ...STATE, radius: null })[5]).toBe("–");
    expect(memberFigures(null)).toEqual(["–", "–", "–", "–", "–", "–"]);
  });

  test("have rows that say what they do next, and what others doubt", () => {
    expect(memberRows(STATE, TERMS)).toEqual([
      [
        `turquoise llama · ${ANN}`,
        "seat",
        "works",
        `in court: accused by violet alpaca · ${BOB}, all do its work of round 1\u202f199 again`,
      ],
      [`violet alpaca · ${BOB}`, "seat", `checks the work of turquoise llama · ${ANN}`, "–"],
      [
        `orange vicuña · ${CAT}`,
        "seat, missed 2 rounds",
        "rests until round 1\u202f204: missing in round 1\u202f198",
        "in doubt: one more member does its work of round 1\u202f197 again",
      ],
      [
        `pink guanaco · ${DAN}`,
        "on probation: 100 of 100 rounds, found right by 2 of 2 members",
        "works",
        "–",
      ],
    ]);
  });

  test("judge doubtful work of an earlier round, which is named", () => {
    const validating = [{ target: CAT, round: 1199, validator: ANN, second: null }];
    expect(memberRows({ ...STATE, validating }, TERMS)[0]?.[2]).toBe(
      `checks the doubtful work of orange vicuña · ${CAT} in round 1\u202f199`,
    );
  });

  test("that are newcomers are judged by a second member, then by all", () => {
    const accused = { target: DAN, round: 7, validator: ANN, second: null };
    const words = (change: Partial<MeshAgreement>) => memberRows({ ...STATE, ...change }, TERMS)[3]?.[3];
    expect(words({ suspected: [accused] })).toBe(
      `accused by turquoise llama · ${ANN}: one more member does its work of round 7 again`,
    );
    expect(words({ court: [{ ...accused, second: BOB }] })).toBe(
      `in court: turquoise llama · ${ANN} found its work of round 7 wrong and violet alpaca · ${BOB} right, all do it again`,
    );
  });

  test("are in court without an accuser where their work was not shown", () => {
    const court = [{ target: ANN, round: 7, validator: null, second: null }];
    const [row] = memberRows(
      { ...STATE, court, doubtful: [{ target: ANN, round: 6, validator: BOB, second: null }] },
      TERMS,
    );
    expect(row?.[3]).toBe(
      "in court: not shown, all ask for its work of round 7; in doubt: one more member does its work of round 6 again",
    );
  });

  test("are enough to decide by more than half of those who take part", () => {
    expect(membersStatus(STATE)).toEqual({
      text: "In round 1\u202f201, 2 of 3 seats take part; 2 decide.",
      warns: false,
    });
    expect(membersStatus(null).warns).toBe(false);
  });

  test("warn where more than a third of the seats rest", () => {
    const rest = { absences: [1199], rests_until: 1205 };
    const seats = [seat(ANN), seat(BOB), seat(CAT), seat(DAN, rest), seat("0".repeat(16), rest)];
    const { text, warns } = membersStatus({ ...STATE, seats });
    expect(warns).toBe(true);
    expect(text).toContain("2 of 5 seats rest, more than a third: 2 members are enough to decide.");
  });

  test("only work where they cannot check others, and warn where that is more than a third", () => {
    const seats = [seat(ANN, { checks_from: 1215 }), seat(BOB), seat(CAT)];
    const state = { ...STATE, seats, validating: [] };
    expect(memberRows(state, TERMS)[0]?.[2]).toBe(
      "works; cannot check others, is asked again from round 1\u202f215",
    );
    expect(membersStatus(state).warns).toBe(false);
    const { text, warns } = membersStatus({ ...state, seats: [...seats, seat(DAN, { checks_from: 1216 })] });
    expect(warns).toBe(true);
    expect(text).toContain("2 of 4 members with a seat cannot check others' work, more than a third");
  });

  test("are banned by keys, of which the beginning is shown", () => {
    expect(STATE.banned.map(shortKey)).toEqual(["3b6a27bcceb6a42d…"]);
  });
});
