import { describe, expect, it } from 'vitest';
import type { JournalEntry } from '../../openwrt/checks/in-force.ts';
import { textsOf } from './sections.ts';
import { createTimeline } from './timeline.ts';

const OTHERS = "config rule 'admin'\n\toption target 'ACCEPT'\n";
const OURS = "config rule 'sdewan_a'\n\toption target 'DROP'\n";
const write = (ms: number, text: string, call = 'uci apply'): JournalEntry => ({
  ms,
  event: 'write',
  package: 'firewall',
  text,
  by: { call },
});
const reload = (ms: number): JournalEntry => ({
  ms,
  event: 'reload',
  service: 'firewall',
  ok: true,
});
const after = (...entries: readonly JournalEntry[]) => {
  const timeline = createTimeline((name) => name.startsWith('sdewan_'));
  for (const entry of entries) timeline.follow(entry);
  return timeline;
};
const wanted = textsOf(OURS);

describe('how long a device has lacked a section', () => {
  const timeline = after(
    write(100, OTHERS, 'factory'),
    write(200, OTHERS + OURS),
    reload(300),
    write(400, OTHERS),
    reload(500),
  );

  it.each([
    [50, Infinity, 'for ever before it had it'],
    [250, Infinity, 'for ever while only the file has it'],
    [300, 0, 'not once its service has taken it'],
    [499, 0, 'not until its service has taken the next file'],
    [700, 200, 'since then'],
  ])('takes at %d the value %d: %s', (at, ms) => {
    expect(timeline.lackedMs('firewall', wanted, at)).toBe(ms);
  });

  it('is told as well when what was before is forgotten', () => {
    timeline.forget(450);
    expect(timeline.lackedMs('firewall', wanted, 700)).toBe(200);
  });
});

describe('whether a device holds a section', () => {
  const timeline = after(
    write(100, OTHERS, 'factory'),
    write(200, OURS),
    write(300, ''),
    reload(400),
  );
  const held = (at: number) => timeline.namesHeld('firewall', ['sdewan_a'], at);

  it('counts its file, and what its service took', () => {
    expect(held(150)).toEqual([]);
    expect(held(250)).toEqual(['sdewan_a']);
    expect(held(350)).toEqual([]);
    const reloaded = after(write(100, OURS), reload(200), write(300, ''));
    expect(reloaded.namesHeld('firewall', ['sdewan_a'], 350)).toEqual(['sdewan_a']);
  });
});

describe("others' sections", () => {
  it('may be changed by an administrator and at a start', () => {
    const timeline = after(
      write(1, OTHERS, 'factory'),
      write(2, OTHERS + OTHERS.replace('admin', 'more'), 'administrator'),
      write(3, OTHERS, 'factory'),
      write(4, OURS + OTHERS),
    );
    expect(timeline.foreignChanges()).toEqual([]);
  });

  it('are changed when one is lost', () => {
    const timeline = after(write(1, OTHERS, 'factory'), write(2, OURS));
    expect(timeline.foreignChanges()).toMatchObject([{ ms: 2, package: 'firewall', is: '' }]);
  });
});
