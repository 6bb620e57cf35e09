/** Vite gives the address of an emitted file for `?url`. */
declare module "*.wasm?url" {
  const address: string;
  export default address;
}

/** Our own kernels, compiled by vite.kernels.ts. */
declare module "minga:kernels/*" {
  const address: string;
  export default address;
}

/** Vite gives a file's text for `?raw`. */
declare module "*.json?raw" {
  const text: string;
  export default text;
}
