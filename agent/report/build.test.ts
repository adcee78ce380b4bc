import { describe, expect, it } from 'vitest';
import type { Verdict } from '#shared/compile/types.ts';
import { sentenceOf } from '#shared/protocol/reasons.ts';
import { MAX_MESSAGE_LENGTH } from '#shared/protocol/report.ts';
import { NOTHING_KNOWN, type RuleStates } from '../reconcile/rule-states.ts';
import { buildReports, type BuildInput } from './build.ts';

const PAUSED = sentenceOf('Paused');

const verdict = (change: Partial<Verdict> = {}): Verdict => ({
  rule: {
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind: 'FirewallRule',
    metadata: {
      name: 'a',
      namespace: 'default',
      uid: 'uid-a',
      resourceVersion: '7',
      generation: 3,
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
  },
  revision: 'rev',
  generationInForce: 3,
  verdict: 'wanted',
  reason: 'Applying',
  message: '',
  sections: [{ package: 'firewall', name: 'sdewan_rule_a' }],
  ...change,
});

const LAGGING = new Set(['firewall.sdewan_rule_a']);

const standing = (change: Partial<RuleStates> = {}): RuleStates => ({
  ...NOTHING_KNOWN,
  verdicts: [verdict()],
  packages: new Map([['FirewallRule', 'firewall']]),
  ...change,
});

const outcome = (change: Partial<BuildInput>) => {
  const [report] = buildReports({
    standing: standing(),
    reading: 'holds',
    problem: '',
    ...change,
  });
  return [report?.state, report?.reason, report?.message];
};

/** `a` is a remote of IPsec. */
const remote = (
  of: Verdict,
  ending: readonly string[],
  more: Partial<RuleStates> = {},
): RuleStates =>
  standing({
    verdicts: [of],
    packages: new Map([['FirewallRule', 'ipsec']]),
    ending,
    ...more,
  });
const applied = verdict({ sections: [{ package: 'ipsec', name: 'a' }] });
const LEFT_UP =
  'tunnels of before may still be up, which the agent cannot end on this OpenWRT: a, a/net';

describe('of the tunnels that a rule brings up', () => {
  const tunnel = (name: string, up: boolean, starts?: true) => ({
    name,
    up,
    state: up ? 'INSTALLED' : 'DOWN',
    ...(starts && { starts }),
  });
  const downOf = (tunnels: BuildInput['tunnels'], of = applied, more = {}) => {
    const input = { standing: remote(of, [], more), reading: 'holds' as const, problem: '' };
    return buildReports({ ...input, tunnels })[0]?.tunnelsDown;
  };
  const [up, down] = [tunnel('a-up', true, true), tunnel('a-down', false, true)];
  const others = [tunnel('ab-c', false, true), tunnel('b-a', false, true)];

  it.each([
    [
      "those that are down, with charon's words",
      [up, down, { ...tunnel('a-x', false, true), words: 'no proposal' }],
      'not up: down, x (no proposal)',
    ],
    ['that none is down', [up, ...others], ''],
    ['nothing where all wait for the other side', [tunnel('a-x', false), ...others], undefined],
    ['nothing where none is known', [], undefined],
  ])('says %s', (_what, tunnels, expected) => {
    expect(downOf(tunnels)).toBe(expected);
  });

  it('says nothing while the rule is not applied, or is of another package', () => {
    expect(downOf([down], applied, { lagging: new Set(['ipsec.a']) })).toBeUndefined();
    const packages = new Map([['FirewallRule', 'firewall']]);
    expect(downOf([down], applied, { packages })).toBeUndefined();
  });
});

const unwanted = verdict({ verdict: 'unwanted', reason: 'Removing', sections: [] });

describe('the report of a rule', () => {
  it('identifies it, with the revision that was compiled', () => {
    const [report] = buildReports({
      standing: standing(),
      reading: 'holds',
      problem: '',
    });
    expect(report).toEqual({
      kind: 'FirewallRule',
      name: 'a',
      uid: 'uid-a',
      generation: 3,
      revision: 'rev',
      state: 'Applied',
      reason: 'Applied',
      message: '',
    });
  });

  const cases: Record<string, { input: Partial<BuildInput>; expected: string[] }> = {
    'Applied in files only, with the reason, when the kernel is not read': {
      input: { standing: standing({ kernelUnread: 'the login may not' }) },
      expected: ['Applied', 'AppliedInFiles', 'the login may not'],
    },
    'Applied with what may still be up of before': {
      input: { standing: remote(applied, ['ab', 'a', 'b/a', 'a/net']) },
      expected: ['Applied', 'AppliedInFiles', LEFT_UP],
    },
    'Applied with that and why the kernel is not read': {
      input: { standing: remote(applied, ['a', 'a/net'], { kernelUnread: 'it may not' }) },
      expected: ['Applied', 'AppliedInFiles', `it may not; ${LEFT_UP}`],
    },
    'Removed with what may still be up of it': {
      input: { standing: remote(unwanted, ['a', 'a/net'], { removed: new Set(['uid-a']) }) },
      expected: ['Removed', 'Removed', LEFT_UP],
    },
    'Applied where only tunnels of others may be': {
      input: { standing: remote(applied, ['ab', 'b/a']) },
      expected: ['Applied', 'Applied', ''],
    },
    'Pending when the kernel lacks a part of it, with that part': {
      input: {
        standing: standing({
          lagging: LAGGING,
          lacking: new Map([['firewall.sdewan_rule_a', "nft's table inet fw4"]]),
        }),
      },
      expected: ['Pending', 'NotInForce', "the kernel of OpenWRT lacks nft's table inet fw4"],
    },
    'Pending when a part of it cannot be compared with the kernel, with the cause': {
      input: {
        standing: standing({
          lagging: LAGGING,
          incomparable: new Map([['firewall.sdewan_rule_a', 'its target is no address']]),
        }),
      },
      expected: [
        'Pending',
        'NotInForce',
        'the agent cannot compare the rule with the kernel of OpenWRT: its target is no address',
      ],
    },
    'Applied and Paused when OpenWRT has it, and nothing is written': {
      input: { standing: standing({ paused: true }) },
      expected: ['Applied', 'Paused', ''],
    },
    'Pending while the pod is paused, with what the kernel lacks': {
      input: {
        standing: standing({
          paused: true,
          lagging: LAGGING,
          lacking: new Map([['firewall.sdewan_rule_a', "nft's table inet fw4"]]),
        }),
      },
      expected: [
        'Pending',
        'Paused',
        `${PAUSED}: the kernel of OpenWRT lacks nft's table inet fw4`,
      ],
    },
    'Pending while the pod is paused and does not have it': {
      input: { standing: standing({ paused: true, lagging: LAGGING }), problem: '' },
      expected: ['Pending', 'Paused', `${PAUSED}: OpenWRT does not have the rule as it is written`],
    },
    'not Removed while the pod is paused and has something of it': {
      input: {
        standing: standing({ paused: true, verdicts: [unwanted] }),
      },
      expected: [
        'Pending',
        'Paused',
        `${PAUSED}: it removes the rule when the annotation is removed from the pod`,
      ],
    },
    'Applied when every section was read back': {
      input: {},
      expected: ['Applied', 'Applied', ''],
    },
    'Pending while a section is not in force, with the problem': {
      input: { standing: standing({ lagging: LAGGING }), problem: 'another apply is pending' },
      expected: ['Pending', 'Applying', 'another apply is pending'],
    },
    'Pending while a drift is repaired, with words': {
      input: { standing: standing({ lagging: LAGGING }) },
      expected: ['Pending', 'Applying', sentenceOf('Applying')],
    },
    'Failed when OpenWRT complained of a section, in its words': {
      input: {
        standing: standing({ warnings: new Map([['firewall.sdewan_rule_a', 'bad address']]) }),
      },
      expected: ['Failed', 'RefusedByOpenwrt', 'OpenWRT ignores it or a part of it: bad address'],
    },
    'Pending when OpenWRT does not answer, whatever was read before': {
      input: { reading: 'silent', problem: 'connection refused' },
      expected: ['Pending', 'OpenwrtUnreachable', 'connection refused'],
    },
    'Pending when OpenWRT has something else that was not read, whatever was read before': {
      input: { reading: 'unread', problem: 'it has restarted' },
      expected: ['Pending', 'OpenwrtUnread', 'it has restarted'],
    },
    'Pending when its package cannot be read': {
      input: { standing: standing({ unusable: new Map([['firewall', 'does not parse']]) }) },
      expected: ['Pending', 'WaitingForPackage', 'does not parse'],
    },
    'Failed as compiled, also when OpenWRT does not answer': {
      input: {
        reading: 'silent',
        standing: standing({
          verdicts: [verdict({ verdict: 'failed', reason: 'InvalidSpec', message: 'spec.src' })],
        }),
      },
      expected: ['Failed', 'InvalidSpec', 'spec.src'],
    },
    'Removed when nothing of it was read back': {
      input: { standing: standing({ verdicts: [unwanted], removed: new Set(['uid-a']) }) },
      expected: ['Removed', 'Removed', ''],
    },
    'not Removed while something of it is, or may be, left': {
      input: { standing: standing({ verdicts: [unwanted] }) },
      expected: ['Pending', 'Removing', sentenceOf('Removing')],
    },
    'not Removed while OpenWRT does not answer': {
      input: {
        standing: standing({ verdicts: [unwanted], removed: new Set(['uid-a']) }),
        reading: 'silent',
      },
      expected: ['Pending', 'OpenwrtUnreachable', sentenceOf('OpenwrtUnreachable')],
    },
    'not Removed while its package cannot be read': {
      input: {
        standing: standing({
          verdicts: [unwanted],
          unusable: new Map([['firewall', 'does not parse']]),
        }),
      },
      expected: ['Pending', 'WaitingForPackage', 'does not parse'],
    },
  };
  it.each(Object.entries(cases))('is %s', (_what, { input, expected }) => {
    expect(outcome(input)).toEqual(expected);
  });

  it('says which generation is in force beside one that is not, as far as it was read back', () => {
    const reported = (change: Partial<RuleStates>): number | undefined =>
      buildReports({ standing: standing(change), reading: 'holds', problem: '' })[0]
        ?.generationInForce;
    const invalid = verdict({ verdict: 'failed', reason: 'InvalidSpec', generationInForce: 2 });
    expect(reported({})).toBeUndefined();
    expect(reported({ verdicts: [invalid] })).toBe(2);
    expect(reported({ verdicts: [invalid], lagging: LAGGING })).toBeUndefined();
    expect(reported({ verdicts: [{ ...invalid, sections: [] }] })).toBeUndefined();
    const replaced = { lagging: LAGGING, earlier: new Map([['uid-a', 1]]) };
    expect(reported(replaced)).toBe(1);
    expect(reported({ ...replaced, earlier: new Map([['uid-b', 1]]) })).toBeUndefined();
  });

  it('is never longer than the protocol allows', () => {
    const [, , message] = outcome({ reading: 'silent', problem: 'x'.repeat(5_000) });
    expect(message).toHaveLength(MAX_MESSAGE_LENGTH);
  });
});
