/** Vite gives the address of an emitted file for `?url`. */
declare module "*.wasm?url" {
  const address: string;
  export default address;
}
