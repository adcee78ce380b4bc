import { expect, it } from 'vitest';
import { leftOverLogger } from './left-overs.ts';

it('names in the log what ICN left, once whenever that changes, and when it is gone', () => {
  const lines: unknown[] = [];
  const logLeftOvers = leftOverLogger({ info: (fields: unknown) => lines.push(fields) });
  const leftOver = { package: 'firewall', type: 'forwarding', name: 'lan-wan' };
  const many = Array.from({ length: 40 }, (_, at) => ({ ...leftOver, name: `f${at}` }));
  for (const leftOvers of [[], [leftOver], [{ ...leftOver }], [], [], many])
    logLeftOvers(leftOvers);
  expect(lines.slice(0, 2)).toEqual([
    { count: 1, sections: ['firewall forwarding lan-wan'] },
    { count: 0, sections: [] },
  ]);
  expect(lines.slice(2)).toMatchObject([{ count: 40, sections: { length: 32 } }]);
});
