import { expect, it } from 'vitest';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { createSessions } from './sessions.ts';

const user = (username: string) => ({ username, groups: [] });

it('keeps a hundred codes; the oldest are forgotten', () => {
  const sessions = createSessions(createManualClock());
  const codes = Array.from({ length: 101 }, () => sessions.codeFor(user('ann'), undefined));
  expect(sessions.redeem(codes[0] ?? '')).toBeUndefined();
  expect(sessions.redeem(codes[1] ?? '')?.session.user).toEqual(user('ann'));
  expect(sessions.redeem(codes[1] ?? '')).toBeUndefined();
});

it('keeps two hundred sessions; the oldest end', () => {
  const sessions = createSessions(createManualClock());
  const opened = Array.from({ length: 201 }, (_, at) => sessions.open(user(`u${at}`), undefined));
  expect(opened.filter(({ session }) => sessions.isOpen(session))).toHaveLength(200);
  expect(sessions.find(opened[0]?.cookie ?? '')).toBeUndefined();
});
