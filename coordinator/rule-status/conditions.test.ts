import { expect, it } from 'vitest';
import { NOW, rule } from '../testing/facts.ts';
import { conditionsOf } from './conditions.ts';

it('the message of a condition has 2,048 characters at most', () => {
  const [condition] = conditionsOf(rule(), NOW, [
    { type: 'Ready', status: 'False', reason: 'InvalidSpec', message: 'x'.repeat(3_000) },
  ]);
  expect(condition?.message).toHaveLength(2_048);
});
