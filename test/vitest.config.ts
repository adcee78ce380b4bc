import { defineConfig } from 'vitest/config';

/** One project per cost: `unit` needs nothing but Node; the others start what they need by themselves. */
const project = (name: string, include: string[], timeoutMs: number) => ({
  test: {
    name,
    include,
    testTimeout: timeoutMs,
    hookTimeout: 4 * timeoutMs,
    root: `${import.meta.dirname}/..`,
  },
});

export default defineConfig({
  test: {
    projects: [
      project(
        'unit',
        [
          '{agent,coordinator,shared,deploy}/**/*.test.ts',
          'test/{openwrt-simulator,kind-test-harness,judge,golden,demo}/**/*.test.ts',
        ],
        10_000,
      ),
      project('contract', ['test/contract/**/*.test.ts'], 60_000),
      project('integration', ['test/integration/**/*.test.ts'], 60_000),
      project('e2e', ['test/e2e/**/*.test.ts'], 180_000),
    ],
  },
});
