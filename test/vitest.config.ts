import { defineConfig } from 'vitest/config';

/** One project per cost: `unit` needs nothing but Node; the others start what they need by themselves. */
const project = (
  name: string,
  include: string[],
  timeoutMs: number,
  { globalSetup = [], exclude = [] }: { globalSetup?: string[]; exclude?: string[] } = {},
) => ({
  test: {
    name,
    include,
    exclude,
    testTimeout: timeoutMs,
    hookTimeout: 4 * timeoutMs,
    globalSetup,
    expect: { poll: { timeout: timeoutMs / 2 } },
    root: `${import.meta.dirname}/..`,
  },
});

/** One cluster for all files of a run; they join it with `connectCluster()`. */
const globalSetup = ['test/kind-test-harness/src/vitest-setup.ts'];
/** They start nodes of their own, and need root. */
const NODE_TESTS = ['test/integration/node*.test.ts'];

export default defineConfig({
  test: {
    projects: [
      project(
        'unit',
        [
          '{agent,coordinator,shared,deploy}/**/*.test.ts',
          'test/{openwrt-simulator,kind-test-harness,judge,golden,demo,images,run}/**/*.test.ts',
        ],
        30_000,
      ),
      project('contract', ['test/contract/**/*.test.ts'], 60_000),
      project('integration', ['test/integration/**/*.test.ts'], 60_000, {
        globalSetup,
        exclude: NODE_TESTS,
      }),
      project('node', NODE_TESTS, 90_000),
      // In one row: outages of the coordinator are part of them, and they share it.
      {
        test: {
          ...project('e2e', ['test/e2e/**/*.test.ts'], 180_000, {
            globalSetup: ['test/e2e/global-setup.ts'],
          }).test,
          fileParallelism: false,
        },
      },
    ],
  },
});
