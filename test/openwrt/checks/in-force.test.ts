import { describe, expect, it } from 'vitest';
import { goneSince, inForceSince, type JournalEntry } from './in-force.ts';

const write = (ms: number, zones: readonly string[], call = 'uci apply'): JournalEntry => ({
  ms,
  event: 'write',
  package: 'firewall',
  text: zones.map((name) => `config zone\n\toption name '${name}'\n`).join('\n'),
  by: { call },
});
const reload = (ms: number, ok = true, service = 'firewall'): JournalEntry => ({
  ms,
  event: 'reload',
  service,
  ok,
  by: { call: 'file exec' },
});
const amend = (ms: number, ok: boolean): JournalEntry => ({ ...reload(ms, ok), event: 'amend' });
const isLan = (options: Record<string, unknown>) => options['name'] === 'lan';
const withLan = [write(1, ['lan'], 'factory'), write(2, []), reload(3)];

describe('a section is gone', () => {
  it.each<[string, JournalEntry[], number | undefined]>([
    ['when the service was reloaded without it', withLan, 3],
    ['not by a write alone', withLan.slice(0, 2), undefined],
    ['not by a reload that failed', [...withLan.slice(0, 2), reload(3, false)], undefined],
    [
      'not by the reload of another service',
      [...withLan.slice(0, 2), reload(3, true, 'mwan3')],
      undefined,
    ],
    [
      'when its table was brought to the same',
      [...withLan.slice(0, 2), amend(3, false), amend(4, true)],
      4,
    ],
    ['since the first of several reloads', [...withLan, reload(9)], 3],
    ['no more when it is back', [...withLan, write(4, ['lan']), reload(5)], undefined],
    [
      'since the last time, where it was back for a while',
      [...withLan, write(4, ['lan']), reload(5), write(6, []), reload(7)],
      7,
    ],
    [
      'since the start of a device that starts without it',
      [...withLan.slice(0, 1), write(8, [], 'factory')],
      8,
    ],
  ])('%s', (_, journal, since) => {
    expect(goneSince(journal, 'firewall', isLan)).toBe(since);
  });
});

it('counts what is to be in force from the reload that had all of it', () => {
  const journal = [write(1, ['lan']), reload(2), write(3, ['lan', 'wan']), reload(4), reload(5)];
  expect(inForceSince(journal, 'firewall', (sections) => sections.length === 2)).toBe(4);
});
