import { expect, it } from 'vitest';
import { ORDER_ANNOTATION } from '#shared/names.ts';
import { ruleObject } from '../testing/rule-object.ts';
import { identified, shapeOf } from './kept-rule.ts';

const withOrder = (order: string) => ruleObject({ annotations: { [ORDER_ANNOTATION]: order } });

it('keeps a short shape of a rule, or none', () => {
  const [short = '', other] = ['1', '2'].map((order) => shapeOf(withOrder(order)));
  expect(other).not.toBe(short);
  const room = 256 - short.length;
  expect(shapeOf(withOrder('1'.repeat(1 + room)))).toHaveLength(256);
  expect(shapeOf(withOrder('1'.repeat(2 + room)))).toBeUndefined();
});

it('keeps the order of what only identifies a rule, however it is written', () => {
  const orderIn = (text: string) =>
    identified(withOrder(text)).metadata.annotations?.[ORDER_ANNOTATION];
  expect(orderIn(`${'0'.repeat(9_000)}7`)).toBe('7');
  expect(orderIn('-3')).toBe('-3');
  expect(orderIn('soon')).toBeUndefined();
});
