// How long tests of pages may take.

import { defineConfig } from "vitest/config";

// Beside the other tests of `make test`, Chromium takes up to minutes to start, to draw and to end.
export default defineConfig({ test: { testTimeout: 240_000, hookTimeout: 240_000, teardownTimeout: 60_000 } });
