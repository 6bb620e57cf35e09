import { describe, expect, it } from "vitest";
import { ELEMENTWISE, fuse } from "../../../../../webapp/static/src/engine/fusion";
import type { NodeDef } from "../../../../../webapp/static/src/engine/fusion/nodes";
import { deviceCode, hostValues, runsOnHost } from "../../../../../webapp/static/src/engine/fusion/program";
import { scalarize } from "../../../../../webapp/static/src/engine/fusion/scalars";
import { splitApply, splitTrain } from "../../../../../webapp/static/src/engine/fusion/variables";

function node(name: string, op: string, input: string[], shape: number[], type = "DT_FLOAT"): NodeDef {
  const dim = shape.map((size) => ({ size }));
  return { name, op, input, attr: { T: { type }, _output_shapes: { list: { shape: [{ dim }] } } } };
}

const given = (name: string, shape: number[]): NodeDef => node(name, "Placeholder", [], shape);
const wishes = (outputs: string[], constants: Record<string, number> = {}) => ({
  outputs,
  scalars: ["learning_rate", "step"],
  constants: new Map(Object.entries(constants)),
  device: "shaders" as const,
});

describe("fuse", () => {
  const x = given("x", [4, 3]);
  const bias = given("bias", [3]);

  it("makes one op of a chain and keeps the name of its last node", () => {
    const chain = [x, bias, node("sum", "AddV2", ["x", "bias"], [4, 3]), node("y", "Tanh", ["sum"], [4, 3])];
    const { nodes, programs } = fuse(chain, wishes(["y"]));
    expect(nodes.map(({ name, op }) => [name, op])).toEqual([
      ["x", "Placeholder"],
      ["bias", "Placeholder"],
      ["y", ELEMENTWISE],
    ]);
    expect(nodes[2]?.input).toEqual(["x", "bias"]);
    expect(programs[0]?.steps.map(({ op }) => op)).toEqual(["AddV2", "Tanh"]);
  });

  it("leaves a value that others need too on its own", () => {
    const graph = [
      x,
      node("square", "Square", ["x"], [4, 3]),
      node("a", "Exp", ["square"], [4, 3]),
      node("rows", "Sum", ["square"], [4]),
    ];
    const { nodes } = fuse(graph, wishes(["a", "rows"]));
    expect(nodes.filter(({ op }) => op === ELEMENTWISE).map(({ name }) => name)).toEqual(["square", "a"]);
  });

  it("leaves nodes without shapes, of integers and of many axes alone", () => {
    const unknown: NodeDef = { name: "a", op: "Exp", input: ["x"], attr: { T: { type: "DT_FLOAT" } } };
    const graph = [
      x,
      unknown,
      node("b", "AddV2", ["x", "x"], [4, 3], "DT_INT32"),
      node("c", "Neg", ["x"], [1, 1, 1, 4, 3]),
    ];
    const { nodes, programs } = fuse(graph, wishes(["a", "b", "c"]));
    expect(programs).toEqual([]);
    expect(nodes.map(({ op }) => op)).toEqual(["Placeholder", "Exp", "AddV2", "Neg"]);
  });

  it("takes no more inputs than a shader may read", () => {
    const parts = Array.from({ length: 9 }, (_, i) => given(`x${i}`, [4]));
    const sums = parts
      .slice(1)
      .map((_, i) => node(`s${i}`, "AddV2", [i === 0 ? "x0" : `s${i - 1}`, `x${i + 1}`], [4]));
    const { programs } = fuse([...parts, ...sums], wishes(["s7"]));
    expect(programs).toHaveLength(2);
    for (const { inputs } of programs) expect(inputs).toBeLessThanOrEqual(7);
  });

  it("computes what depends on scalars alone in JavaScript, rounded to float32", () => {
    const graph = [
      given("learning_rate", []),
      given("step", []),
      node("rate", "Mul", ["learning_rate", "tenth"], []),
      node("y", "Mul", ["x", "rate"], [4, 3]),
      x,
    ];
    const { programs, nodes } = fuse(graph, wishes(["y"], { tenth: Math.fround(0.1) }));
    const [program] = programs;
    if (program === undefined) throw new Error("Nothing was fused.");
    const { uniforms, lines, result } = deviceCode(program, "V");
    expect([lines, result]).toEqual([["V s1 = (x0 * u0);"], "s1"]);
    expect(hostValues(program, [3], uniforms)).toEqual([Math.fround(3 * Math.fround(0.1))]);
    expect(nodes.at(-2)?.input).toEqual(["x", "learning_rate"]);
  });

  it("gives each number that the device needs a uniform of its own", () => {
    const graph = [
      given("learning_rate", []),
      given("step", []),
      node("a", "Mul", ["x", "learning_rate"], [4, 3]),
      node("y", "AddV2", ["a", "step"], [4, 3]),
      x,
    ];
    const [program] = fuse(graph, wishes(["y"])).programs;
    if (program === undefined) throw new Error("Nothing was fused.");
    expect(hostValues(program, [5, 7], deviceCode(program, "let").uniforms)).toEqual([5, 7]);
  });

  it("for the compiled kernels takes floats and functions that they have", () => {
    const cast = node("cast", "Cast", ["mask"], [4, 3]);
    const types = { SrcT: { type: "DT_BOOL" }, DstT: { type: "DT_FLOAT" } };
    const graph = [
      x,
      node("mask", "Placeholder", [], [4, 3], "DT_BOOL"),
      { ...cast, attr: { ...cast.attr, ...types } },
      node("log", "Log", ["x"], [4, 3]),
      node("kept", "Mul", ["log", "cast"], [4, 3]),
      node("y", "TanhGrad", ["x", "kept"], [4, 3]),
    ];
    const { nodes, programs } = fuse(graph, { ...wishes(["y"]), device: "kernels" });
    expect(nodes.map(({ name }) => name)).toEqual(["x", "mask", "cast", "log", "y"]);
    expect(programs.map(({ steps }) => steps.map(({ op }) => op))).toEqual([["Mul", "TanhGrad"]]);
  });

  it("without a device rewrites scalars only", () => {
    const graph = [
      given("step", []),
      node("half", "Mul", ["step", "k"], []),
      x,
      node("y", "Mul", ["x", "half"], [4, 3]),
    ];
    const { nodes, programs } = fuse(graph, { ...wishes(["y"], { k: 0.5 }), device: null });
    expect(programs.map(runsOnHost)).toEqual([true]);
    expect(nodes.map(({ op }) => op)).toEqual(["Placeholder", ELEMENTWISE, "Placeholder", "Mul"]);
  });
});

describe("scalarize", () => {
  it("unpacks a short vector of the step into numbers that JavaScript computes", () => {
    const graph = [
      given("step", []),
      node("rates", "Const", [], [2]),
      node("powers", "Mul", ["step", "rates"], [2]),
      node("both", "Unpack", ["powers"], []),
      given("x", [3]),
      node("y", "Mul", ["x", "both:1"], [3]),
    ];
    const { nodes, constants } = scalarize(graph, ["step"], new Map([["rates", [2, 3]]]));
    const [program] = fuse(nodes, {
      outputs: ["y"],
      scalars: ["step"],
      constants,
      device: "shaders",
    }).programs;
    if (program === undefined) throw new Error("Nothing was fused.");
    expect(hostValues(program, [10], deviceCode(program, "V").uniforms)).toEqual([30]);
  });
});

describe("splitTrain", () => {
  const graph = [
    given("trainable", [8]),
    node("split", "SplitV", ["trainable", "sizes", "axis"], [6]),
    node("kernel", "Reshape", ["split", "shape"], [2, 3]),
    node("y", "MatMul", ["x", "kernel"], [4, 3]),
    node("z", "BiasAdd", ["y", "split:1"], [4, 3]),
    node("dk", "MatMul", ["x", "z"], [2, 3]),
    node("flat", "Reshape", ["dk", "minus"], [6]),
    node("db", "Sum", ["z", "axes"], [2]),
    node("joined", "ConcatV2", ["flat", "db", "axis"], [8]),
    node("gradient", "Identity", ["joined"], [8]),
  ];
  const vector = { trainable: "trainable", gradient: "gradient" };

  it("feeds variables as they are shaped and takes gradients before they are joined", () => {
    const split = splitTrain(graph, vector, [[2, 3], [2]]);
    expect(split?.gradients).toEqual(["dk", "db"]);
    const inputs = Object.fromEntries(split?.nodes.map(({ name, input }) => [name, input]) ?? []);
    expect(inputs.y).toEqual(["x", "trainable_part_0"]);
    expect(inputs.z).toEqual(["y", "trainable_part_1"]);
    expect(inputs.split).toBeUndefined();
  });

  it("refuses a graph that uses the vector in another way", () => {
    const whole = [...graph, node("norm", "Sum", ["trainable", "axes"], [])];
    expect(splitTrain(whole, vector, [[2, 3], [2]])).toBeNull();
    expect(splitTrain(graph, vector, [[8]])).toBeNull();
  });
});

describe("splitApply", () => {
  const vectors = [
    given("trainable", [8]),
    given("gradient", [8]),
    given("slots", [2, 8]),
    given("learning_rate", []),
  ];
  const moments = [
    node("rows", "Unpack", ["slots"], [8]),
    node("m", "AddV2", ["rows", "gradient"], [8]),
    node("v", "AddV2", ["rows:1", "m"], [8]),
    node("pack", "Pack", ["m", "v"], [2, 8]),
    node("new_slots", "Identity", ["pack"], [2, 8]),
    node("change", "Mul", ["v", "learning_rate"], [8]),
    node("new_trainable", "Sub", ["trainable", "change"], [8]),
  ];

  it("orders the stages so that each finds its inputs", () => {
    const plan = splitApply([...vectors, ...moments], wishes([]), 8, 2);
    expect(plan?.slots).toEqual(["m", "v"]);
    expect(plan?.stages.map(({ name, inputs, scalars }) => [name, inputs, scalars])).toEqual([
      ["m", ["slots_part_0", "gradient"], []],
      ["v", ["slots_part_1", "m"], []],
      ["new_trainable", ["trainable", "v"], ["learning_rate"]],
    ]);
  });

  it("refuses an optimizer that looks at the whole gradient", () => {
    const clipped = moments.map((item) =>
      item.name === "change" ? node("change", "Mul", ["v", "norm"], [8]) : item,
    );
    const norm = node("norm", "Sum", ["gradient", "axes"], []);
    expect(splitApply([...vectors, norm, ...clipped], wishes([]), 8, 2)).toBeNull();
  });
});
