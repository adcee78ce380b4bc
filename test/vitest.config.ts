import { defineConfig } from 'vitest/config';

/** One project per cost: `unit` needs nothing but Node; the others start what they need by themselves. */
const project = (
  name: string,
  include: string[],
  timeoutMs: number,
  globalSetup: string[] = [],
) => ({
  test: {
    name,
    include,
    testTimeout: timeoutMs,
    hookTimeout: 4 * timeoutMs,
    globalSetup,
    expect: { poll: { timeout: timeoutMs / 4 } },
    root: `${import.meta.dirname}/..`,
  },
});

/** One cluster for all files of a run; they join it with `connectCluster()`. */
const CLUSTER = ['test/kind-test-harness/src/vitest-setup.ts'];

export default defineConfig({
  test: {
    projects: [
      project(
        'unit',
        [
          '{agent,coordinator,shared,deploy}/**/*.test.ts',
          'test/{openwrt-simulator,kind-test-harness,judge,golden,demo,images}/**/*.test.ts',
        ],
        10_000,
      ),
      project('contract', ['test/contract/**/*.test.ts'], 60_000),
      project('integration', ['test/integration/**/*.test.ts'], 60_000, CLUSTER),
      project('e2e', ['test/e2e/**/*.test.ts'], 180_000, CLUSTER),
    ],
  },
});
