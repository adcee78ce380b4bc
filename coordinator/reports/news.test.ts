import { expect, it } from 'vitest';
import { newsOf, type News } from './news.ts';
import type { Acceptance } from './reports.ts';

const none = new Set<string>();
const some = new Set(['rule-1']);
const few: Acceptance = { outcome: 'news', rules: some, whole: false, drifts: [] };
const whole: Acceptance = { outcome: 'news', rules: none, whole: true, drifts: [] };
const heartbeat: Acceptance = { outcome: 'heartbeat' };

it.each<[string, Acceptance, boolean, News]>([
  ['a heartbeat concerns no rule', heartbeat, false, { of: 'nothing' }],
  ['a heartbeat that counts again concerns all rules', heartbeat, true, { of: 'pod', rules: none }],
  ['new states of a few rules concern these', few, false, { of: 'rules', rules: some }],
  ['a change that concerns all rules concerns all', whole, false, { of: 'pod', rules: none }],
  // What was unread, and is as it was, too.
  [
    'a report that counts again concerns all rules, whatever it says',
    few,
    true,
    { of: 'pod', rules: some },
  ],
])('%s', (_name, acceptance, countsAgain, news) => {
  expect(newsOf(acceptance, countsAgain)).toEqual(news);
});
