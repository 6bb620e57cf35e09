/** Vite gives the address of a worker's built program for `?worker&url`. */
declare module "*?worker&url" {
  const address: string;
  export default address;
}
