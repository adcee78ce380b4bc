import { expect, it } from 'vitest';
import { createBoot } from './boot.ts';

it('replaces a boot that is over once, however many streams learn of it', () => {
  const boot = createBoot();
  const first = boot.id();
  boot.supersede(first);
  const second = boot.id();
  expect(second).not.toBe(first);
  boot.supersede(first);
  expect(boot.id()).toBe(second);
});
