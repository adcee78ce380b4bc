import { expect, it } from 'vitest';
import { conditionReasons, reasons } from '#shared/protocol/reasons.ts';
import { cureInDocs, cureOf, FINE } from './what-to-do.ts';

const RULE = { kind: 'FirewallRule' };
const DELETED = { ...RULE, isBeingDeleted: true };

it('there is one for each reason, and no Markdown in it', () => {
  const fine = new Set<string>(FINE);
  const all = Object.keys({ ...reasons, ...conditionReasons }).filter((one) => !fine.has(one));
  for (const reason of all) {
    // Some come only while a rule is being deleted.
    const cure = cureOf(reason, RULE) ?? cureOf(reason, DELETED);
    expect(cure).toMatch(/^[A-Z].*[.)`]$/);
    expect(cure).not.toContain('](');
  }
});

it('differs while the rule is being deleted', () => {
  expect(cureOf('AgentSilent', DELETED)).toBe('Repair the pod, or delete it.');
  expect(cureOf('AgentSilent', RULE)).toContain('(sdewan docs status#an-agent-does-not-report)');
  expect(cureOf('InvalidSpec', DELETED)).toBe(cureOf('InvalidSpec', RULE));
});

it('fits the kind', () => {
  const of = (kind: string) => cureOf('UnsupportedByDriver', { kind });
  expect(of('FirewallRule')).toContain('Remove the field');
  expect(of('VirtualAddress')).toContain('keepalived');
  expect(of('PolicyEnforcement')).toContain('nft');
  expect(cureInDocs('UnsupportedByDriver', 'Yes.')).toMatch(
    /^Yes\. VirtualAddress: .*PolicyEnforcement: /,
  );
  expect(cureInDocs('InvalidSpec', 'Yes.')).toBe('Yes.');
});

it.each(['OfALaterVersion', 'toString'])('is absent for %s', (reason) => {
  expect(cureOf(reason, RULE)).toBeUndefined();
});
