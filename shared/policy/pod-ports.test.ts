import { expect, it } from 'vitest';
import { podPortsIn } from './pod-ports.ts';

const PORT = '52f111c6-c346-4b59-ad4e-ece80584dff8';
const one = { interface: 'eth0', port: PORT };
const list = (...ports: object[]): string => JSON.stringify(ports);

it('reads ports, whatever else others say of them', () => {
  expect(podPortsIn(undefined)).toEqual({ ports: [] });
  expect(podPortsIn(list({ ...one, mac: 'x', port: PORT.toUpperCase() }))).toEqual({
    ports: [one],
  });
});

it.each([
  ['no JSON', 'eth0'],
  ['no list', JSON.stringify(one)],
  ['an empty list', '[]'],
  ['no uuid', list({ ...one, port: '../networks' })],
  ['no name of an interface', list({ ...one, interface: '' })],
  ['a long name', list({ ...one, interface: 'x'.repeat(16) })],
  ['a port twice', list(one, { ...one, interface: 'eth1' })],
  [
    'many',
    list(
      ...Array.from({ length: 17 }, (_, at) => ({
        ...one,
        port: PORT.replace('52', String(at + 10)),
      })),
    ),
  ],
  ['a long text', list({ ...one, more: 'x'.repeat(5_000) })],
])('says what would be right of %s', (_, text) => {
  expect(podPortsIn(text)).toEqual({
    problem: expect.stringMatching(/^must (be a JSON list|have at most)/),
  });
});
