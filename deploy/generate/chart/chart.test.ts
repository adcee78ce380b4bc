/** What Helm makes of it is in test/deploy/chart. */
import { describe, expect, it } from 'vitest';
import { coordinatorEnvSchema } from '../../../coordinator/env.ts';
import { NOT_SET_HERE } from './env-values.ts';
import { chartOf } from './templates.ts';

describe('the chart', () => {
  const { values } = chartOf();

  it('describes each value, with another one than the default', () => {
    expect(values.values.length).toBeGreaterThan(50);
    const lacking = values.values.filter(
      (one) =>
        one.description.trim() === '' ||
        JSON.stringify(one.example) === JSON.stringify(one.default),
    );
    expect(lacking).toEqual([]);
  });

  it('leaves out variables of the coordinator only that there are', () => {
    for (const name of NOT_SET_HERE) expect(coordinatorEnvSchema.shape).toHaveProperty(name);
  });
});
