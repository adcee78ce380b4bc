import { describe, expect, it } from 'vitest';
import type { Comments } from './ledger.ts';
import { afterReading, afterWrite, beforeWrite } from './comments.ts';

const NONE: Comments = { atStake: [], lost: [] };
const FIREWALL = new Set(['firewall']);
const read = (...names: string[]) => new Map(names.map((name) => [name, {}]));

describe('comments', () => {
  it('can be lost in packages that contain some and are written', () => {
    expect(beforeWrite(NONE, ['firewall', 'mwan3'], FIREWALL).atStake).toEqual(['firewall']);
    expect(beforeWrite(NONE, ['mwan3'], FIREWALL)).toEqual(NONE);
  });

  it('are lost by a write that is permanent', () => {
    const before = beforeWrite(NONE, ['firewall'], FIREWALL);
    expect(afterWrite(before, ['firewall'])).toEqual({ atStake: [], lost: ['firewall'] });
    expect(afterWrite(before, ['mwan3'])).toEqual(before);
  });

  it('are reported as lost once, even if new ones are written', () => {
    const lost = { atStake: [], lost: ['firewall'] };
    expect(beforeWrite(lost, ['firewall'], FIREWALL)).toEqual(lost);
    expect(afterWrite(lost, ['firewall'])).toEqual(lost);
  });

  it('are checked again after a write that was undone, or whose end was not seen', () => {
    const before = beforeWrite(NONE, ['firewall'], FIREWALL);
    expect(afterReading(before, read('firewall'), FIREWALL)).toEqual(NONE);
    const gone = { atStake: [], lost: ['firewall'] };
    expect(afterReading(before, read('firewall'), new Set())).toEqual(gone);
    expect(afterReading(before, read('mwan3'), new Set())).toEqual(before);
  });
});
