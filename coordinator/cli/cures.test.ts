import { expect, it } from 'vitest';
import { conditionReasons, reasons } from '#shared/protocol/reasons.ts';
import { cureOf, FINE } from './cures.ts';

it('there is one for each reason, and no Markdown in it', () => {
  const fine = new Set<string>(FINE);
  const all = Object.keys({ ...reasons, ...conditionReasons }).filter((one) => !fine.has(one));
  for (const reason of all) {
    // Some come only while a rule is being deleted.
    const cure = cureOf(reason, false) ?? cureOf(reason, true);
    expect(cure).toMatch(/^[A-Z].*[.)`]$/);
    expect(cure).not.toContain('](');
  }
});

it('differs while the rule is being deleted', () => {
  expect(cureOf('AgentSilent', true)).toBe('Repair the pod, or delete it.');
  expect(cureOf('AgentSilent', false)).toContain('(docs/status.md#an-agent-does-not-report)');
  expect(cureOf('InvalidSpec', true)).toBe(cureOf('InvalidSpec', false));
});

it.each(['OfALaterVersion', 'toString'])('is absent for %s', (reason) => {
  expect(cureOf(reason, false)).toBeUndefined();
});
