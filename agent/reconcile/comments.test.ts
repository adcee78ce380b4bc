import { describe, expect, it } from 'vitest';
import { afterReading, afterWrite, beforeWrite, type Comments } from './comments.ts';

const NONE: Comments = { atStake: [], lost: [] };
const FIREWALL = new Set(['firewall']);
const read = (...names: string[]) => new Map(names.map((name) => [name, {}]));

describe('comments', () => {
  it('are at stake in packages that hold some and are written', () => {
    expect(beforeWrite(NONE, ['firewall', 'mwan3'], FIREWALL).atStake).toEqual(['firewall']);
    expect(beforeWrite(NONE, ['mwan3'], FIREWALL)).toEqual(NONE);
  });

  it('are lost by a write that is kept, and not by one that was undone', () => {
    const before = beforeWrite(NONE, ['firewall'], FIREWALL);
    expect(afterWrite(before, ['firewall'], true)).toEqual({ atStake: [], lost: ['firewall'] });
    expect(afterWrite(before, ['firewall'], false)).toEqual(NONE);
    expect(afterWrite(before, ['mwan3'], true)).toEqual(before);
  });

  it('are lost once, also where somebody writes new ones', () => {
    const lost = { atStake: [], lost: ['firewall'] };
    expect(beforeWrite(lost, ['firewall'], FIREWALL)).toEqual(lost);
    expect(afterWrite(lost, ['firewall'], true)).toEqual(lost);
  });

  it('are looked for after a write whose end was not seen', () => {
    const before = beforeWrite(NONE, ['firewall'], FIREWALL);
    expect(afterReading(before, read('firewall'), FIREWALL)).toEqual(NONE);
    const gone = { atStake: [], lost: ['firewall'] };
    expect(afterReading(before, read('firewall'), new Set())).toEqual(gone);
    expect(afterReading(before, read('mwan3'), new Set())).toEqual(before);
  });
});
