import { expect, test } from 'vitest';
import { globMatches } from './glob.ts';

const DD = '/bin/dd if=/etc/config/firewall bs=131072 count=1 skip=';

test.each<[string, string, boolean]>([
  ['/etc/config/firewall', '/etc/config/firewall', true],
  ['/etc/config/firewall', '/etc/config/firewall2', false],
  ['/var/run/rpcd/uci-*/firewall', '/var/run/rpcd/uci-abc/firewall', true],
  ['/var/run/rpcd/uci-*/firewall', '/var/run/rpcd/uci-a/b/firewall', true],
  [`${DD}[0-9]`, `${DD}7`, true],
  [`${DD}[0-9]`, `${DD}17`, false],
  [`${DD}[0-9]`, `${DD}7 of=/etc/passwd`, false],
  [`${DD}*`, `${DD}7 of=/etc/passwd`, true],
  ['[!a-c]x', 'dx', true],
  ['[!a-c]x', 'bx', false],
  ['a?c', 'a/c', true],
  ['a[b', 'a[b', true],
  ['a.c', 'abc', false],
  ['*', '', true],
])('%s against %s: %s', (pattern, text, expected) => {
  expect(globMatches(pattern, text)).toBe(expected);
});
