import { describe, expect, it } from 'vitest';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { cnf, factsOf, ready, withStatus } from '../cli/cluster/testing.ts';
import { statusText, statusViewOf, statusViewSchema } from './status.ts';

const NOW = Date.parse('2026-01-01T00:03:00Z');
const zone = withStatus(['FirewallZone', 'lan1'], ready(true, 'InSync'));
const broken = (name: string) =>
  withStatus(['FirewallRule', name], {
    ...ready(false, 'WaitingForReference', 'spec.src: waits for FirewallZone wan'),
    outOfSync: [{ pod: 'cnf-1-a', reason: 'WaitingForReference', message: 'spec.src: waits' }],
  });
const shown = { isWide: false, hasNamespaces: false, now: NOW };

describe('status', () => {
  it('prints one line for a CNF in sync', () => {
    const view = statusViewOf(factsOf({ rules: [zone] }));
    expect(view.inSync).toBe('Yes');
    expect(statusText(view, shown)).toBe(
      'CNF     PODS   RULES IN SYNC   WANS   TUNNELS\ncnf-1   2/2    1/1             -      -\n',
    );
  });

  it('says of a rule that is not why, since when, and what to do', () => {
    const view = statusViewOf(factsOf({ rules: [zone, broken('r1')] }));
    expect(view.inSync).toBe('No');
    expect(statusText(view, shown)).toBe(`CNF     PODS   RULES IN SYNC   WANS   TUNNELS
cnf-1   2/2    1/2             -      -

FirewallRule/r1 of cnf-1: not in sync for 3m: WaitingForReference
  cause: spec.src: waits for FirewallZone wan
  cure:  Create that rule. The order in which you create rules does not matter.
`);
  });

  it('has rules with one cause in common in one block', () => {
    const rules = Array.from({ length: 8 }, (_, index) => broken(`r${index}`));
    const text = statusText(statusViewOf(factsOf({ rules })), shown);
    expect(text).toContain('FirewallRule/r4 and 3 more of cnf-1: not in sync');
    expect(text.match(/cause:/g)).toHaveLength(1);
  });

  it('says of a rule that is being deleted what it waits for, with the cure of deletions', () => {
    const deleting = { deletionTimestamp: '2026-01-01T00:01:00Z' };
    const rule = withStatus(
      ['FirewallZone', 'lan1'],
      ready(false, 'AgentSilent', 'cnf-1-a: the agent does not report any more'),
      deleting,
    );
    const text = statusText(statusViewOf(factsOf({ rules: [rule] })), shown);
    expect(text).toContain('FirewallZone/lan1 of cnf-1: being deleted for 2m: AgentSilent');
    expect(text).toContain('cure:  Repair the pod, or delete it.');
  });

  it.each([
    ['without a status', undefined, 'NoStatus', 'has not written a status'],
    [
      'changed since',
      ready(true, 'InSync'),
      'OldStatus',
      'about generation 1, and .* generation 2',
    ],
  ])('does not take a rule %s for one in sync', (_, status, reason, cause) => {
    const rule = withStatus(['FirewallZone', 'lan1'], status, { generation: 2 });
    const view = statusViewOf(factsOf({ rules: [rule] }));
    expect(view.inSync).toBe('No');
    expect(view.notInSync).toMatchObject([
      { state: 'Unknown', reason, cause: expect.stringMatching(cause) },
    ]);
  });

  it('cannot tell while a kind cannot be seen, unless a rule is not in sync', () => {
    const lacking = ['ipsecsites.x', 'ipsechosts.x'].map((resource) => ({
      verb: 'list' as const,
      resource,
      namespace: 'default',
    }));
    const view = statusViewOf(factsOf({ rules: [zone], lacking }));
    expect(view).toMatchObject({
      inSync: 'Unknown',
      notSeen: ['you may not list ipsechosts.x, ipsecsites.x in namespace default'],
    });
    expect(statusViewOf(factsOf({ rules: [broken('r')], lacking })).inSync).toBe('No');
    const pods = [{ verb: 'list', resource: 'pods', namespace: 'default' }] as const;
    expect(statusViewOf(factsOf({ rules: [zone], lacking: pods })).inSync).toBe('Yes');
  });

  it('has rules of a CNF without pods, and of none', () => {
    const rules = [
      withStatus(['FirewallZone', 'a'], undefined, { labels: { sdewanPurpose: 'cnf-9' } }),
      withStatus(['FirewallZone', 'b'], undefined, { labels: {} }),
    ];
    const view = statusViewOf(factsOf({ rules }));
    expect(view.cnfs.map(({ name, rules: { total } }) => [name, total])).toEqual([
      ['cnf-1', 0],
      ['cnf-9', 1],
    ]);
    expect(statusText(view, shown)).toContain('cnf-9   -      0/1');
    expect(view.notInSync.map(({ cnf: name }) => name)).toEqual(['cnf-9', '']);
  });

  it('has only that CNF when one is asked for, and more columns when wide', () => {
    const facts = factsOf({
      cnfs: [cnf('cnf-1'), cnf('cnf-2', 'default', { message: 'cnf-2-a: the agent is silent' })],
      rules: [broken('r')],
      pods: [
        {
          namespace: 'default',
          purpose: 'cnf-2',
          name: 'cnf-2-a',
          agentImage: 'agent:1',
          optedOut: false,
          networks: undefined,
        },
        {
          namespace: 'default',
          purpose: 'cnf-2',
          name: 'cnf-2-b',
          agentImage: 'agent:2',
          optedOut: false,
          networks: undefined,
        },
      ],
    });
    const view = statusViewOf(facts, 'cnf-2');
    expect(view.inSync).toBe('Yes');
    expect(statusText(view, { ...shown, isWide: true, hasNamespaces: true })).toBe(
      `NAMESPACE   CNF     PODS   RULES IN SYNC   WANS   TUNNELS   AGENTS
default     cnf-2   2/2    0/0             -      -         agent:1, agent:2

CNF default/cnf-2: cnf-2-a: the agent is silent
`,
    );
  });

  describe('while there is a roll-out', () => {
    const labels = { sdewanPurpose: 'cnf-1' };
    const rollOut = (status: object) =>
      cnfDeploymentResource.schema.parse({
        apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
        kind: 'CNFDeployment',
        metadata: { name: 'edge', namespace: 'default', uid: 'u', creationTimestamp: '' },
        spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: {} } },
        status,
      });
    const message = 'FirewallRule r: Applying (on edge-new-b)';
    const stageTime = '2026-01-01T00:02:00Z';
    const waiting = { stage: 'Connected', stageTime, stagedRevision: 'new', message };
    const cnfs = [
      cnf('cnf-1', 'default', {
        wans: { up: 1, total: 2, summary: '1/2' },
        tunnels: { up: 0, total: 0, summary: '0/0' },
        information: ['edge-old-a', 'edge-new-b'].map((name) => ({
          name,
          namespace: 'default',
          purpose: 'cnf-1',
          status: name === 'edge-old-a' ? 'Available' : 'Not Available',
        })),
        pods: { up: 1, total: 2, summary: '1/2' },
      }),
    ];
    const lateOn = (...pods: string[]) =>
      withStatus(['FirewallRule', 'r'], {
        ...ready(false, 'Applying', 'late'),
        outOfSync: pods.map((pod) => ({ pod, reason: 'Applying', message: '' })),
      });
    const textOf = (status: object, ...pods: string[]) => {
      const facts = factsOf({ cnfs, rules: [lateOn(...pods)], rollOuts: [rollOut(status)] });
      return statusText(statusViewOf(facts), shown);
    };

    it('counts the pods that serve, and says what it waits for', () => {
      expect(textOf(waiting, 'edge-new-b')).toBe(`CNF     PODS   RULES IN SYNC   WANS   TUNNELS
cnf-1   1/1    1/1             1/2    0/0

CNFDeployment edge: Connected, for 60s: FirewallRule r: Applying (on edge-new-b)
`);
    });

    it.each([
      ['a pod that serves lacks the rule', waiting, 'edge-old-a'],
      ['the new pods have the traffic', { ...waiting, stage: 'Soaking' }, 'edge-new-b'],
    ])('shows the rule that is not in sync when %s', (_, status, pod) => {
      expect(textOf(status, pod)).toContain('FirewallRule/r of cnf-1: not in sync');
    });

    it('says why one has failed or cannot begin, and nothing of one at its end', () => {
      const conditions = [
        {
          type: 'Degraded',
          status: 'True',
          reason: 'RollOutFailed',
          message: 'revision 2 has failed',
          lastTransitionTime: stageTime,
        },
      ];
      expect(textOf({ stage: 'Failed', conditions }, 'edge-old-a')).toContain(
        'CNFDeployment edge: RollOutFailed, for 60s: revision 2 has failed\n',
      );
      expect(textOf({ stage: 'Current' }, 'edge-old-a')).not.toContain('CNFDeployment');
    });

    it('has a CNF that has neither pods nor rules yet', () => {
      const facts = factsOf({ cnfs: [], rules: [], rollOuts: [rollOut(waiting)] });
      expect(statusText(statusViewOf(facts), shown)).toContain('CNFDeployment edge: Connected');
    });
  });

  it('is as its schema says', () => {
    const rules = [zone, broken('r'), withStatus(['FirewallZone', 'n'], undefined)];
    const view = statusViewOf(factsOf({ rules }));
    expect(statusViewSchema.parse(JSON.parse(JSON.stringify(view)))).toEqual(view);
  });

  it('prints nothing that a terminal would act on', () => {
    const rule = withStatus(
      ['FirewallZone', 'z'],
      ready(false, 'InvalidSpec', 'a\u001B]0;x\u0007b'),
    );
    const text = statusText(statusViewOf(factsOf({ rules: [rule] })), shown);
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });
});
