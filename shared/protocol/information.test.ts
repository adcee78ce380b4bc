import { expect, it } from 'vitest';
import { bounded, informationSchema } from './information.ts';

const MANY = 1_000;
const many = <T>(entry: T): T[] => Array.from({ length: MANY }, () => entry);
const NONE = { interfaces: [], routes: [], tunnels: [], wans: [] };

it.each([
  ['interfaces', 64, { ...NONE, interfaces: many({ name: 'a', up: true, addresses: [] }) }],
  ['routes', 128, { ...NONE, routes: many({ target: 'a', interface: 'b' }) }],
  ['tunnels', 128, { ...NONE, tunnels: many({ name: 'a', up: true, state: 'UP' }) }],
  ['wans', 64, { ...NONE, wans: many({ interface: 'a', up: true, status: 'online' }) }],
  ['leftOvers', 32, { ...NONE, leftOvers: many({ package: 'a', type: 'b', name: 'c' }) }],
] as const)('keeps the first of %s, %d, and how many more there are', (list, most, all) => {
  const information = bounded(all);
  expect(information[list]).toHaveLength(most);
  expect(information.leftOut).toBe(MANY - most);
  expect(informationSchema.safeParse(information).error).toBeUndefined();
});
