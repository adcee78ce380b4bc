import { expect, it } from 'vitest';
import { newsOf, type News } from './news.ts';
import type { Acceptance } from './reports.ts';

const none = new Set<string>();
const some = new Set(['rule-1']);
const few: Acceptance = { outcome: 'news', rules: some, whole: false };
const whole: Acceptance = { outcome: 'news', rules: none, whole: true };
const heartbeat: Acceptance = { outcome: 'heartbeat' };

it.each<[string, Acceptance, boolean, News]>([
  ['a heartbeat is news of nothing', heartbeat, false, { of: 'nothing' }],
  ['a heartbeat that counts again is news of all', heartbeat, true, { of: 'pod', rules: none }],
  ['what is said of a few rules is news of these', few, false, { of: 'rules', rules: some }],
  ['what concerns all is news of all', whole, false, { of: 'pod', rules: none }],
  // What was unread, and is as it was, too.
  ['what counts again is news of all, whatever it says', few, true, { of: 'pod', rules: some }],
])('%s', (_name, acceptance, countsAgain, news) => {
  expect(newsOf(acceptance, countsAgain)).toEqual(news);
});
