/** Vite turns an imported stylesheet into a file that the page's template links. */
declare module "*.css";
