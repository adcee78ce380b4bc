import { expect, it } from 'vitest';
import { readableLog } from './readable-log.ts';

it.each([
  [
    'a line of the product is one that people read',
    '[pod/cnf-1-a/sdewan-agent] {"level":"info","time":"2026-01-02T03:04:05.678Z","name":"sdewan-agent","purpose":"cnf-1","msg":"agent started"}',
    '2026-01-02 03:04:05.678 cnf-1-a INFO  agent started purpose=cnf-1',
  ],
  [
    'what is none of its lines stays as it is, with the name of the pod',
    '[pod/cnf-1-a/sdewan-agent] Restarting',
    'cnf-1-a Restarting',
  ],
  ['what kubectl itself says stays as it is', 'error: no pods', 'error: no pods'],
])('%s', (_name, line, shown) => {
  expect(readableLog(line)).toBe(shown);
});
