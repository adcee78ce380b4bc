import { describe, expect, it } from 'vitest';
import { silentLogger } from '#shared/runtime/log.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { createLookUps, type TagAnswer } from './look-ups.ts';

const HOUR_MS = 3_600_000;

const create = () => {
  const clock = createManualClock();
  const asked: PromiseWithResolvers<string>[] = [];
  const told: string[] = [];
  const digestOf = (): Promise<string> => {
    const answer = Promise.withResolvers<string>();
    asked.push(answer);
    return answer.promise;
  };
  const lookUps = createLookUps({ clock, digestOf, holdsMs: HOUR_MS, log: silentLogger });
  const get = (asker: string, signal = new AbortController().signal): TagAnswer | undefined =>
    lookUps.get('openwrt:1', { namespace: 'edge', onAnswer: () => told.push(asker), signal })
      .answer;
  return { asked, clock, get, told };
};

describe('a tag', () => {
  it('is asked for once, and all that wait for it are told', async () => {
    const { asked, get, told } = create();
    expect([get('cnf-1'), get('cnf-2')]).toEqual([undefined, undefined]);
    expect(asked).toHaveLength(1);
    asked[0]?.resolve('sha256:1');
    await expect.poll(() => told).toEqual(['cnf-1', 'cnf-2']);
    expect(get('cnf-1')).toEqual({ digest: 'sha256:1' });
    expect(asked).toHaveLength(1);
  });

  it('keeps its answer, and is asked for again, when a term ends before the next one', async () => {
    const { asked, clock, get, told } = create();
    get('cnf-1');
    asked[0]?.resolve('sha256:1');
    await expect.poll(() => told).toHaveLength(1);
    clock.advance(HOUR_MS);
    const term = new AbortController();
    get('cnf-1', term.signal);
    term.abort();
    asked[1]?.reject(term.signal.reason);
    await expect.poll(() => told).toHaveLength(2);
    expect(get('cnf-1')).toEqual({ digest: 'sha256:1' });
    expect(asked).toHaveLength(3);
  });
});
