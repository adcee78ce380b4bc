import { describe, expect, it } from 'vitest';

import { rewritePaths, toLocalPath } from './mounts.ts';

const mounts = { root: '/pod/root', mountPaths: ['/var/run/secrets/x', '/etc/config', '/data'] };

describe('rewritePaths', () => {
  it.each([
    ['the mount path itself', '/data', '/pod/root/data'],
    ['a path below it', '/etc/config/firewall', '/pod/root/etc/config/firewall'],
    [
      'a list with colons',
      '/data/a:/usr/bin:/data/b',
      '/pod/root/data/a:/usr/bin:/pod/root/data/b',
    ],
    ['a list with commas', '/data/a,/data/b', '/pod/root/data/a,/pod/root/data/b'],
    ['a flag', '--ca=/data/ca.crt', '--ca=/pod/root/data/ca.crt'],
    [
      'a shell line',
      'test -f "/data/ready" && cat </data/x',
      'test -f "/pod/root/data/ready" && cat </pod/root/data/x',
    ],
    ['a file URL', 'file:///data/x', 'file:///pod/root/data/x'],
    ['another path that begins alike', '/database/x', '/database/x'],
    ['another path that holds it', '/srv/data/x', '/srv/data/x'],
    ['the path of a URL', 'http://host/data/x', 'http://host/data/x'],
    ['a relative path', './data/x', './data/x'],
    ['no path', 'data', 'data'],
  ])('%s', (_, text, expected) => {
    expect(rewritePaths(text, mounts)).toBe(expected);
  });

  it('leaves everything alone without mounts', () => {
    expect(rewritePaths('/data', { root: '/r', mountPaths: [] })).toBe('/data');
  });
});

describe('toLocalPath', () => {
  it('knows only what is mounted', () => {
    expect(toLocalPath('/data/x', mounts)).toBe('/pod/root/data/x');
    expect(toLocalPath('/etc/passwd', mounts)).toBe('/etc/passwd');
  });
});
