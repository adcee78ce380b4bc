/**
 * The one command that runs exactly one test again with the random cases that it had. It goes into
 * the test's error, which a person reads that runs the file, and into the test's meta, from where
 * the last lines of a red run have it.
 */
import { TestRunner, type RunnerTestCase } from 'vitest';
import { SEED, TIMES } from '#shared/runtime/testing.ts';

declare module 'vitest' {
  interface TaskMeta {
    replay?: string;
  }
}

/** Where a property failed, as fast-check names it: the case, and how it was shrunk. */
export const PATH_VARIABLE = 'SDEWAN_PATH';

type Replay = {
  seed: number;
  times?: number;
  path?: string;
  /** Variables without which the test would not run, or would be another. */
  env?: Readonly<Record<string, string>> | undefined;
  file: string;
  test: string;
};

/** For a shell, from the project's folder. */
export const replayCommand = ({ seed, times = 1, path, env = {}, file, test }: Replay): string =>
  [
    `SDEWAN_SEED=${seed}`,
    ...(times === 1 ? [] : [`SDEWAN_TIMES=${times}`]),
    ...(path === undefined ? [] : [`${PATH_VARIABLE}=${path}`]),
    ...Object.entries(env).map(([name, value]) => `${name}=${quoted(value)}`),
    `npx vitest run --config test/vitest.config.ts ${file}`,
    `-t ${quoted(`^${test.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)}$`)}`,
  ].join(' ');

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The seed of the test that runs now. Should it fail, the last lines of the run name it. */
export const markReplay = (path?: string, env?: Replay['env']): string => {
  const { file, fullTestName, meta } = TestRunner.getCurrentTest<RunnerTestCase>();
  meta.replay = replayCommand({
    seed: SEED,
    times: TIMES,
    ...(path === undefined ? {} : { path }),
    env,
    file: file.name,
    test: fullTestName,
  });
  return meta.replay;
};
