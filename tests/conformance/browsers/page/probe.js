// Tells what a worker has of this browser's graphics processor.

const webgl = () => new OffscreenCanvas(1, 1).getContext("webgl2") !== null;
const webgpu = async () => (await navigator.gpu.requestAdapter()) !== null;
const holds = async (ask) => {
  try {
    return await ask();
  } catch {
    return false;
  }
};
Promise.all([holds(webgl), holds(webgpu)]).then(([webgl, webgpu]) => postMessage({ webgl, webgpu }));
