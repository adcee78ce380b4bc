/**
 * `npm run test:harness`: the harness' own tests. When all of them pass, it records the state of the harness (tested.ts): commit that
 * with the change. `--if-changed`: only when the state is another than the recorded one; so does `.ci/run`.
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runStages } from './stages.ts';
import { isTested, runAndRecord } from './tested.ts';

const root = path.resolve(import.meta.dirname, '../..');
const { values } = parseArgs({ options: { 'if-changed': { type: 'boolean' } } });

if (values['if-changed'] && isTested(root)) {
  console.log('The harness is as it was when its own tests passed: they do not run.');
  console.log('0 passed, 0 failed');
} else {
  process.exitCode = await runAndRecord(root, () =>
    runStages([{ projects: [{ name: 'harness' }] }], { mayNotSkip: true }),
  );
}
