import { expect, it } from 'vitest';
import { NOW, rule } from '../testing/facts.ts';
import { conditionsOf } from './conditions.ts';

it('cuts the message of a condition at 2,048 characters', () => {
  const [condition] = conditionsOf(rule(), NOW, [
    { type: 'Ready', status: 'False', reason: 'InvalidSpec', message: 'x'.repeat(3_000) },
  ]);
  expect(condition?.message).toHaveLength(2_048);
});
