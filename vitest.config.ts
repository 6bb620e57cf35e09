import { defineConfig } from "vitest/config";

// Milliseconds, far more than anything takes on a slow machine that does other things as well.
const PATIENCE = 300_000;

export default defineConfig({
  test: {
    include: ["tests/ts/**/*.test.ts"],
    environment: "node",
    testTimeout: PATIENCE,
    hookTimeout: PATIENCE,
  },
});
