// Predicts with a TF.js model as anybody would: `node predict_tfjs.cjs`, what to do as JSON on standard input.
// Asked {folder, inputs: {name: {shape, dtype, data}}}; answers [{shape, data}, ...], an entry for each output.
const fs = require("node:fs");
const path = require("node:path");
const tf = require("@tensorflow/tfjs-core");
const { loadLayersModel } = require("@tensorflow/tfjs-layers");
const { GraphModel } = require("@tensorflow/tfjs-converter");
require("@tensorflow/tfjs-backend-cpu");

function load(folder) {
  const model = JSON.parse(fs.readFileSync(path.join(folder, "model.json"), "utf8"));
  const [{ paths, weights }] = model.weightsManifest;
  const bytes = Buffer.concat(paths.map((file) => fs.readFileSync(path.join(folder, file))));
  const weightData = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  return { format: model.format, modelTopology: model.modelTopology, signature: model.signature, weightSpecs: weights, weightData };
}

async function main() {
  const { folder, inputs } = JSON.parse(fs.readFileSync(0, "utf8"));
  await tf.setBackend("cpu");
  const artifacts = load(folder);
  const tensors = Object.entries(inputs).map(([, one]) => tf.tensor(one.data, one.shape, one.dtype));
  let outputs;
  if (artifacts.format === "layers-model") {
    const model = await loadLayersModel({ load: async () => artifacts });
    outputs = model.predict(tensors.length > 1 ? tensors : tensors[0]);
  } else {
    const model = new GraphModel({ load: async () => artifacts });
    await model.load();
    const named = Object.fromEntries(Object.keys(inputs).map((name, i) => [artifacts.signature.inputs[name].name, tensors[i]]));
    outputs = await model.executeAsync(named, Object.values(artifacts.signature.outputs).map((one) => one.name));
  }
  const all = Array.isArray(outputs) ? outputs : [outputs];
  process.stdout.write(JSON.stringify(all.map((y) => ({ shape: y.shape, data: [...y.dataSync()] }))));
}

main();
