import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomOfTest } from './random.ts';
import { markReplay, replayCommand } from './replay.ts';
import { SEED, TIMES } from '#shared/runtime/testing.ts';

/** What a shell makes of the command: its words. */
const words = (command: string): string[] =>
  execFileSync('sh', ['-c', `printf '%s\\0' ${command}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1);

describe('the command that replays a test', () => {
  it('names seed, path, file and test', () => {
    const path = '3:0:1';
    expect(words(replayCommand({ seed: -5, path, file: 'a.test.ts', test: 'does' }))).toEqual([
      'SDEWAN_SEED=-5',
      'SDEWAN_PATH=3:0:1',
      'npx',
      'vitest',
      'run',
      '--config',
      'test/vitest.config.ts',
      'a.test.ts',
      '-t',
      '^does$',
    ]);
  });

  it('names how many cases there were, unless it is the usual number', () => {
    const command = { seed: 1, file: 'a.test.ts', test: 'does' };
    expect(replayCommand({ ...command, times: 100 })).toMatch(/^SDEWAN_SEED=1 SDEWAN_TIMES=100 /);
    expect(replayCommand({ ...command, times: 1 })).toMatch(/^SDEWAN_SEED=1 npx /);
  });

  it('names what the test needs to be there', () => {
    const command = { seed: 1, file: 'a.test.ts', test: 'does' };
    expect(words(replayCommand({ ...command, env: { ROWS: "night's" } }))[1]).toBe("ROWS=night's");
  });

  it.each(["it's", 'a $HOME', 'a > b (c) [d] {e} *+?^|.\\', '"`x`"', 'line\nline'])(
    'selects exactly the test %j',
    (test) => {
      const pattern = words(replayCommand({ seed: 1, file: 'a.test.ts', test })).at(-1) ?? '';
      expect(new RegExp(pattern).test(test)).toBe(true);
      expect(new RegExp(pattern).test(`${test} too`)).toBe(false);
    },
  );

  it('is that of the test that runs', () => {
    expect(markReplay('0:1')).toContain(
      ` test/run/replay.test.ts -t '^the command that replays a test > is that of the test that runs$'`,
    );
  });
});

describe('random cases', () => {
  it('come from the seed of the run for properties', () => {
    expect(fc.readConfigureGlobal()).toMatchObject({ seed: SEED, numRuns: 100 * TIMES });
  });

  it('are the same ones each time for walks', () => {
    const [one, other] = [randomOfTest(), randomOfTest()];
    const drawn = [one, other].map(({ next }) => [next(), next(), next()]);
    expect(drawn[0]).toEqual(drawn[1]);
    expect(new Set(drawn[0]).size).toBe(3);
  });
});
