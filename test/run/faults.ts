/**
 * `npm run suite faults`: the rows of the fault table (test/faults), and their results into
 * docs/reliability.md.
 *
 *   npm run suite faults [ROW…]      absent: all but those that take minutes
 *   --night                            those as well
 */
import { parseArgs } from 'node:util';
import { chosenRows, ROWS_VARIABLE } from '../faults/choice.ts';
import { TABLE_VARIABLE } from '../faults/results.ts';
import { runStages } from './stages.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { night: { type: 'boolean', default: false } },
});
const asked = values.night ? 'night' : positionals.join(',');
// A name that is none is told now, not after the start of a control plane.
chosenRows(asked);
const env = { [ROWS_VARIABLE]: asked, [TABLE_VARIABLE]: 'write' };
process.exitCode = await runStages([{ projects: [{ name: 'faults', env }] }]);
