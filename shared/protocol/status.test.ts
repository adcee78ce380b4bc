import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { conditionReasons, reasons } from './reasons.ts';
import { conditionTypes, icnStates, ruleStatusSchema } from './status.ts';

const page = readFileSync(new URL('../../docs/status.md', import.meta.url), 'utf8');

/** Reasons without a problem need no advice. */
const GOOD = new Set(['Applied', 'Removed', 'InSync']);

it('docs/status.md describes every reason, field, condition and state', () => {
  const words = [
    ...Object.keys(reasons),
    ...Object.keys(conditionReasons),
    ...Object.keys(ruleStatusSchema.shape),
    ...conditionTypes,
    ...icnStates,
  ].filter((word) => !GOOD.has(word));
  expect(words.filter((word) => !page.includes(`\`${word}\``))).toEqual([]);
});
