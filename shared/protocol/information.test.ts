import { expect, it } from 'vitest';
import {
  bounded,
  informationSchema,
  type Information,
  MAX_INFORMATION_BYTES,
} from './information.ts';
import { largestOf } from './testing.ts';

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

/** As JSON, bytes. */
const ofSize = (size: number): Information => {
  const addresses = Array.from({ length: 14 }, () => 'x'.repeat(64));
  const interfaces = Array.from({ length: 16 }, () => ({ name: 'a', up: true, addresses }));
  const tunnels = Array.from({ length: 10 }, () => ({ name: '', up: true, state: '' }));
  const information = { ...NONE, interfaces, tunnels, leftOut: 0 };
  let room = size - Buffer.byteLength(JSON.stringify(information));
  for (const tunnel of tunnels) {
    tunnel.name = 'x'.repeat(Math.min(room, 128));
    room -= tunnel.name.length;
  }
  return information;
};

it('is taken up to its limit, and told up to it', () => {
  expect(informationSchema.safeParse(ofSize(MAX_INFORMATION_BYTES)).error).toBeUndefined();
  expect(informationSchema.safeParse(ofSize(MAX_INFORMATION_BYTES + 1)).success).toBe(false);
  const most = largestOf(informationSchema);
  const told = bounded({ ...most, leftOut: 0 });
  expect(informationSchema.safeParse(told).error).toBeUndefined();
});
