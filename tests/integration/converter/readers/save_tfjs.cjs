// Writes small TF.js Layers models to the folder given: node save_tfjs.cjs FOLDER
// Each gets a folder with model.json, weights.bin and expected.json, an input and what TF.js predicts for it.
const fs = require("node:fs");
const path = require("node:path");
const tf = require("@tensorflow/tfjs-core");
const layers = require("@tensorflow/tfjs-layers");
require("@tensorflow/tfjs-backend-cpu");

const l = layers.layers;

function image() {
  const model = layers.sequential({ name: "image" });
  model.add(l.conv2d({ inputShape: [6, 6, 2], filters: 4, kernelSize: 3, activation: "relu", padding: "same" }));
  model.add(l.batchNormalization());
  model.add(l.depthwiseConv2d({ kernelSize: 3, depthMultiplier: 2 }));
  model.add(l.separableConv2d({ kernelSize: 2, filters: 3 }));
  model.add(l.leakyReLU({ alpha: 0.2 }));
  model.add(l.maxPooling2d({ poolSize: 2, strides: 1 }));
  model.add(l.flatten());
  model.add(l.dropout({ rate: 0.3 }));
  model.add(l.dense({ units: 3, activation: "softmax", kernelRegularizer: layers.regularizers.l2({ l2: 0.01 }) }));
  model.compile({ optimizer: new tf.AdamOptimizer(0.02, 0.8, 0.99), loss: "categoricalCrossentropy", metrics: ["accuracy"] });
  return model;
}

function branches() {
  const left = layers.input({ shape: [4], name: "left" });
  const right = layers.input({ shape: [4], name: "right" });
  const shared = l.dense({ units: 5, activation: "tanh", name: "shared" });
  const inner = layers.sequential({ name: "inner" });
  inner.add(l.dense({ units: 5, inputShape: [5], activation: "hardSigmoid" }));
  inner.add(l.batchNormalization());
  const joined = l.concatenate().apply([inner.apply(shared.apply(left)), shared.apply(right)]);
  const norm = l.layerNormalization().apply(joined);
  const frozen = l.dense({ units: 10, trainable: false }).apply(norm);
  const y = l.dense({ units: 1 }).apply(l.add().apply([frozen, joined]));
  const model = layers.model({ inputs: [left, right], outputs: y });
  model.compile({ optimizer: tf.train.sgd(0.1), loss: "meanSquaredError", metrics: ["mse"] });
  return model;
}

function sequence() {
  const model = layers.sequential();
  model.add(l.embedding({ inputDim: 9, outputDim: 4, inputLength: 5 }));
  // The default, orthogonal, needs tensors with methods, which tfjs-core alone does not give.
  const recurrentInitializer = "glorotUniform";
  model.add(l.lstm({ units: 3, returnSequences: true, recurrentInitializer }));
  const layer = l.gru({ units: 3, returnSequences: true, recurrentInitializer });
  model.add(l.bidirectional({ layer, mergeMode: "concat" }));
  model.add(l.timeDistributed({ layer: l.dense({ units: 4 }) }));
  model.add(l.simpleRNN({ units: 2, recurrentInitializer }));
  model.add(l.dense({ units: 1, activation: "sigmoid" }));
  model.compile({ optimizer: "rmsprop", loss: "binaryCrossentropy" });
  return model;
}

async function write(model, folder, options = {}) {
  fs.mkdirSync(folder, { recursive: true });
  // Weights as after some training, statistics included: fresh ones would hide a mixed-up order. They are the same
  // in each run; the initializers' are not.
  model.setWeights(
    model.getWeights().map((w, i) => {
      const values = tf.randomUniform(w.shape, -0.9, 0.9, "float32", 11 + i);
      return model.weights[i].originalName.endsWith("moving_variance") ? tf.abs(values) : values;
    }),
  );
  const ids = model.layers.some((layer) => layer.getClassName() === "Embedding");
  const inputs = model.inputs.map((t, i) =>
    tf.div(tf.floor(tf.randomUniform([3, ...t.shape.slice(1)], 0, 8, "float32", 5 + i)), ids ? 1 : 8),
  );
  const output = model.predict(inputs.length > 1 ? inputs : inputs[0]);
  const expected = { x: inputs.map((t) => t.arraySync()), y: output.arraySync() };
  fs.writeFileSync(path.join(folder, "expected.json"), JSON.stringify(expected));
  const save = async (artifacts) => {
    const { weightData, weightSpecs, ...rest } = artifacts;
    const manifest = [{ paths: ["weights.bin"], weights: weightSpecs }];
    fs.writeFileSync(path.join(folder, "weights.bin"), Buffer.from(weightData));
    fs.writeFileSync(path.join(folder, "model.json"), JSON.stringify({ ...rest, weightsManifest: manifest }));
    return { modelArtifactsInfo: { dateSaved: new Date(0), modelTopologyType: "JSON" } };
  };
  await model.save({ save }, options);
}

async function main(folder) {
  await tf.setBackend("cpu");
  await write(image(), path.join(folder, "image"), { includeOptimizer: true });
  await write(branches(), path.join(folder, "branches"), { includeOptimizer: true });
  await write(sequence(), path.join(folder, "sequence"));
}

main(process.argv[2]);
