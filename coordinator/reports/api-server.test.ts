import { expect, it } from 'vitest';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { createApiServerSeen } from './api-server.ts';

it('knows the API server as away when it has answered nothing for more than three seconds, and for seven seconds more', () => {
  const clock = createManualClock();
  const seen = createApiServerSeen(clock);
  clock.advance(3_000);
  expect(seen.wasAway()).toBe(false);
  clock.advance(1);
  expect(seen.wasAway()).toBe(true);
  for (let passed = 0; passed < 7_000; passed += 1_000) {
    seen.answered();
    expect(seen.wasAway()).toBe(true);
    clock.advance(1_000);
  }
  expect(seen.wasAway()).toBe(false);
});
