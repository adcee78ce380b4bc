import { expect, it } from 'vitest';
import { leftOverTeller } from './left-overs.ts';

it('what ICN left is told by name, once whenever it changes, and when it is gone', () => {
  const lines: unknown[] = [];
  const tell = leftOverTeller({ info: (fields: unknown) => lines.push(fields) });
  const leftOver = { package: 'firewall', type: 'forwarding', name: 'lan-wan' };
  const many = Array.from({ length: 40 }, (_, at) => ({ ...leftOver, name: `f${at}` }));
  for (const leftOvers of [[], [leftOver], [{ ...leftOver }], [], [], many]) tell(leftOvers);
  expect(lines.slice(0, 2)).toEqual([
    { count: 1, sections: ['firewall forwarding lan-wan'] },
    { count: 0, sections: [] },
  ]);
  expect(lines.slice(2)).toMatchObject([{ count: 40, sections: { length: 32 } }]);
});
