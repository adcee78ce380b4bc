import { describe, expect, it } from 'vitest';
import { openerOf } from './browser.ts';
import { placeIn, type CoordinatorPod } from './find.ts';

const pod = (
  name: string,
  { port, ready = true, deleted = false }: { port?: number; ready?: boolean; deleted?: boolean },
): CoordinatorPod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: 'sdewan-system',
    uid: name,
    resourceVersion: '1',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...(deleted && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  },
  spec: {
    containers: [
      { ports: [{ name: 'reports', containerPort: 8_443 }] },
      { ...(port !== undefined && { ports: [{ name: 'dashboard', containerPort: port }] }) },
    ],
  },
  status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
});

describe('the coordinator that serves the dashboard', () => {
  it('is one that is ready, and does not end', () => {
    const ended = pod('a', { port: 1, deleted: true });
    const starting = pod('b', { port: 2, ready: false });
    expect(placeIn([ended, starting, pod('c', { port: 3 })], 'sdewan-system')).toEqual({
      pod: 'c',
      port: 3,
      isReady: true,
    });
  });

  it.each([
    ['there is none', [], '-n names another namespace'],
    ['it serves none', [pod('a', {})], 'deploy/dashboard turns it on'],
    ['it is not ready', [pod('a', { port: 1, ready: false })], 'no coordinator in namespace'],
  ])('says what to do when %s', (_, pods, words) => {
    expect(placeIn(pods, 'sdewan-system')).toContain(words);
  });
});

it.each([
  ['darwin', {}, 'open'],
  ['win32', {}, 'explorer.exe'],
  ['linux', { DISPLAY: ':0' }, 'xdg-open'],
  ['linux', { WAYLAND_DISPLAY: 'wayland-0' }, 'xdg-open'],
  ['linux', {}, undefined],
] as const)('opens on %s with %j the browser by %s', (platform, env, program) => {
  expect(openerOf(platform, env)?.[0]).toBe(program);
});
