import { describe, expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import { KubeError } from '#shared/kube/errors.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { ready } from '../cli/cluster/testing.ts';
import { report } from '../testing/facts.ts';
import type { RecentEvent } from './latest-events.ts';
import { MAX_COMPILED } from './read-rules.ts';
import { dashboardOf, podOf, SILENT_AFTER_MS, type Cluster } from './testing.ts';
import type { Access } from './viewer/reviews.ts';

const withStatus = (object: RuleObject, status: object | undefined): RuleObject => ({
  ...object,
  status,
});
const zone = withStatus(
  ruleOf('FirewallZone', 'lan', { network: ['ovn-net1'], input: 'ACCEPT' }),
  ready(true, 'InSync'),
);
const spec = { src: 'lan', proto: 'tcp', dest_port: '80', target: 'REJECT' };
const out = withStatus(ruleOf('FirewallRule', 'reject-80', spec), {
  ...ready(false, 'AgentSilent', 'the agent does not report any more (1 of 2 pods: cnf-1-b)'),
  outOfSync: [{ pod: 'cnf-1-b', reason: 'AgentSilent', message: 'silent' }],
  drift: { count: 3, lastTime: '2026-01-01T00:00:09.500Z', section: 'firewall.x' },
});
const event: RecentEvent = {
  namespace: 'default',
  involved: { kind: 'FirewallRule', name: 'reject-80', uid: out.metadata.uid },
  type: 'Warning',
  reason: 'AgentSilent',
  message: 'an Event about it',
  count: 2,
  last: '2026-01-01T00:01:00Z',
};
const pods = [podOf('cnf-1-a'), podOf('cnf-1-b')];
const reports = new Map(pods.map(({ uid }) => [uid, report([])]));
const information = {
  wans: [
    { interface: 'net7', up: true, status: 'online' },
    { interface: 'net8', up: false, status: 'offline' },
  ],
  tunnels: [{ name: 'hub-main', up: false, state: 'DOWN', starts: true, words: 'no proposal' }],
};
const usual: Partial<Cluster> = {
  rules: [zone, out],
  pods,
  reports,
  events: [event],
  information,
  now: '2026-01-01T00:10:00Z',
};

const seen = async (
  given: Partial<Cluster>,
  path: string,
): Promise<{ status: number; text: string; words: string }> => {
  const { get, signIn } = dashboardOf(given);
  const answer = await get(path, await signIn());
  const text = await answer.text();
  return { status: answer.status, text, words: wordsOf(text) };
};
const wordsOf = (text: string): string =>
  text
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

describe('the page of a rule', () => {
  it('does not say that something is not there which the viewer may not list', async () => {
    const may: Cluster['may'] = (_, { resource }) => resource !== 'firewallzones';
    const { words } = await seen({ ...usual, may }, '/rule/default/FirewallRule/reject-80');
    expect(words).toContain('FirewallZone/lan – not known to you');
    expect(words).toContain('you may not list FirewallZone');
    expect(words).not.toMatch(/Absent|not exist/);
  });
});

describe('what is wrong', () => {
  const many = Array.from({ length: 200 }, (_, at) =>
    withStatus(ruleOf('FirewallRule', `aa${at}`, spec), ready(true, 'InSync')),
  );

  it.each(['/', '/cnf/default/cnf-1'])(
    'stands before all else at %s, with its message and what to do, among 200 rules',
    async (path) => {
      const { words } = await seen({ ...usual, rules: [zone, ...many, out] }, path);
      const found = words.indexOf(
        '✗ not in sync: AgentSilent – FirewallRule/reject-80 of cnf-1 in default, 10m ago the agent does not report any more (1 of 2 pods: cnf-1-b) What to do: See An agent does not report',
      );
      const list = words.indexOf(path === '/' ? 'All CNFs' : 'Rules, in the order');
      expect([found > 0, found < list]).toEqual([true, true]);
    },
  );

  it('is one for all rules of one cause', async () => {
    const broken = many.map((one) => withStatus(one, ready(false, 'InvalidSpec', 'no port')));
    const { words, text } = await seen({ ...usual, rules: broken }, '/');
    expect(words.match(/InvalidSpec/g)).toHaveLength(1);
    expect(words).toContain('and 195 more');
    expect(text).toContain('href="/cnf/default/cnf-1?state=out#search"');
  });

  it('names WANs and tunnels that are down, once for all pods', async () => {
    const { words } = await seen(usual, '/');
    expect(words).toContain('✗ offline – WAN net8 on cnf-1-a, cnf-1-b of cnf-1');
    expect(words).toContain('✗ down – Tunnel hub-main on cnf-1-a, cnf-1-b of cnf-1');
    expect(words).toContain('no proposal What to do: Look at the other side');
  });

  it('names a roll-out that failed', async () => {
    const condition = {
      type: 'Degraded',
      status: 'True',
      reason: 'RolledBack',
      message: 'late',
      lastTransitionTime: '',
    };
    const rollOuts = [rollOut({ conditions: [condition] })];
    const { words } = await seen({ ...usual, rollOuts }, '/');
    expect(words).toContain('✗ RolledBack – CNFDeployment/edge of cnf-1 in default late');
    const may = (_: string, { resource }: Access) => resource !== 'cnfdeployments';
    expect((await seen({ ...usual, rollOuts, may }, '/')).words).not.toContain('RolledBack');
  });

  it('says so when there is nothing', async () => {
    const { words } = await seen({ rules: [zone] }, '/');
    expect(words).toContain('Nothing, of what you may see.');
  });
});

describe('the page of all CNFs', () => {
  it('has state, since when, rules, pods, agents and drift of each', async () => {
    const { words, text } = await seen(usual, '/');
    expect(words).toContain(
      'cnf-1 default ✗ not in sync 10m ago 1 of 2 2 of 2 2 of 4 0 of 2 sdewan-agent:1 3, last 9m51s ago',
    );
    expect(text).toContain('title="2026-01-01 00:00:00 UTC"');
    expect(text).toContain('href="/cnf/default/cnf-1"');
  });

  it('finds a CNF by its name', async () => {
    expect((await seen(usual, '/?q=cnf-2')).words).not.toContain('cnf-1 default');
    expect((await seen(usual, '/?q=cnf-1')).words).toContain('cnf-1 default');
  });

  it('shows rules without a CNF', async () => {
    const lost = ruleOf('FirewallRule', 'lost', spec, { labels: {} });
    const { text } = await seen({ rules: [lost] }, '/');
    expect(text).toContain('href="/cnf/default/-"');
    expect((await seen({ rules: [lost] }, '/cnf/default/-')).words).toContain('FirewallRule/lost');
  });

  it('says what to do first where there is nothing', async () => {
    const { words } = await seen({}, '/');
    expect(words).toContain('What to do first');
    expect(words).toContain('sdewanPurpose: cnf-1');
  });
});

const rollOut = (status: object): RuleObject =>
  withStatus(ruleOf('CNFDeployment', 'edge', {}), status);

describe('the page of a CNF, on its traffic', () => {
  const at = '/cnf/default/cnf-1';
  const members = [
    { network: 'ovn-net1', metric: 1, weight: 3 },
    { network: 'ovn-net2', metric: 1, weight: 1 },
  ];
  const uplinks: Partial<Cluster> = {
    ...usual,
    networks:
      '{"interface": [{"name": "ovn-net1", "interface": "net7"}, {"name": "ovn-net2", "interface": "net8"}]}',
    rules: [
      withStatus(ruleOf('Mwan3Policy', 'balance', { members }), ready(true, 'InSync')),
      withStatus(ruleOf('IpsecHost', 'hub', {}), ready(true, 'InSync')),
    ],
  };

  it('has WANs with what is theirs now of each policy, and tunnels with their rule', async () => {
    const { words, text } = await seen(uplinks, at);
    expect(words).toContain('net7 cnf-1-a ✓ online 10m ago 100 % of balance');
    expect(words).toContain('net8 cnf-1-a ✗ offline 10m ago 0 % of balance');
    expect(words).toContain('hub-main cnf-1-a ✗ DOWN no proposal 10m ago IpsecHost/hub');
    expect(text).toContain('href="/rule/default/Mwan3Policy/balance"');
  });

  it('has no shares of more policies than are compiled for a page', async () => {
    const policies = (count: number) =>
      Array.from({ length: count }, (_, at) => ruleOf('Mwan3Policy', `p${at}`, { members }));
    const wordsOfAll = async (count: number): Promise<string> =>
      (await seen({ ...uplinks, rules: policies(count) }, at)).words;
    expect(await wordsOfAll(MAX_COMPILED)).toContain('100 % of p0');
    expect(await wordsOfAll(MAX_COMPILED + 1)).not.toContain('% of');
  });

  it('has the stage of a roll-out and what it waits for', async () => {
    const rollOuts = [
      rollOut({ stage: 'Staging', stageTime: '2026-01-01T00:05:00Z', waitsFor: ['a rule'] }),
    ];
    expect((await seen({ ...usual, rollOuts }, at)).words).toContain(
      'edge … Staging 5m ago a rule',
    );
    const may = (_: string, { resource }: Access) => resource !== 'cnfdeployments';
    expect((await seen({ ...usual, rollOuts, may }, at)).words).not.toContain('Staging');
    const fresh = await seen({ ...usual, rollOuts: [rollOut({})] }, at);
    expect(fresh.words).toContain('edge … New –');
  });

  it('has NetworkPolicies with the pods that they protect, each with a page', async () => {
    const policy = withStatus(ruleOf('PolicyEnforcement', 'shop.web.1a2b', {}), {
      ...ready(true, 'InSync'),
      selectedPods: { selected: 3, enforced: 2, summary: '2/3' },
      notEnforced: [{ reason: 'OtherNode', pods: 1, examples: ['shop/db'] }],
    });
    const rules = [policy, out];
    const { words, text } = await seen({ ...usual, rules }, at);
    expect(words).toContain('shop/web ✓ in sync 2/3 OtherNode: 1 (shop/db) 10m ago');
    const path = '/rule/default/PolicyEnforcement/shop.web.1a2b';
    expect(text).toContain(`href="${path}"`);
    expect((await seen({ ...usual, rules }, path)).words).toContain('kind: PolicyEnforcement');
  });

  it.each([
    ['mwan3policies', '100 % of'],
    ['pods', '100 % of'],
    ['cnfstatuses', 'net7'],
    ['ipsechosts', 'IpsecHost'],
  ])('says nothing that takes the right to list %s', async (resource, words) => {
    expect((await seen(uplinks, at)).words).toContain(words);
    const may = (_: string, access: Access) => access.resource !== resource;
    expect((await seen({ ...uplinks, may }, at)).words).not.toContain(words);
  });
});

describe('the page of a CNF', () => {
  it('has its rules in the order of OpenWRT, with the state on each pod', async () => {
    const later = ruleOf('FirewallRule', 'aaa', spec, {
      annotations: { 'sdewan.akraino.org/order': '5' },
    });
    const { words } = await seen({ ...usual, rules: [later, out, zone] }, '/cnf/default/cnf-1');
    expect(words).toContain(
      'FirewallRule/reject-80 ✗ not in sync: AgentSilent the agent does not report any more (1 of 2 pods: cnf-1-b) 10m ago 1 of 2 cnf-1-b ✗ AgentSilent',
    );
    const places = ['FirewallZone/lan', 'FirewallRule/reject-80', 'FirewallRule/aaa'].map((name) =>
      words.lastIndexOf(name),
    );
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places).not.toContain(-1);
  });

  it.each([
    ['?q=REJECT', ['reject-80']],
    ['?q=agentsilent', ['reject-80']],
    ['?state=InSync', ['lan']],
    ['?state=out', ['reject-80']],
    ['?state=NotInSync&q=lan', []],
    ['?state=nonsense', ['lan', 'reject-80']],
  ])('shows with %s only %j', async (query, names) => {
    const { words } = await seen(usual, `/cnf/default/cnf-1${query}`);
    const list = words.slice(words.indexOf('Rules, in the order'));
    expect(list.match(/\/(lan|reject-80)(?= )/g) ?? []).toEqual(names.map((name) => `/${name}`));
  });

  it('comes in parts of a hundred', async () => {
    const rules = Array.from({ length: 250 }, (_, at) =>
      withStatus(ruleOf('FirewallRule', `r${at}`, spec), ready(true, 'InSync')),
    );
    const countOn = async (query: string) =>
      (await seen({ rules }, `/cnf/default/cnf-1${query}`)).text.match(/href="\/rule\//g)?.length;
    expect(await countOn('')).toBe(100);
    expect(await countOn('?page=3')).toBe(50);
    expect(await countOn('?page=99')).toBe(50);
    expect(await countOn('?page=-1')).toBe(100);
    const { text } = await seen({ rules }, '/cnf/default/cnf-1?q=r&page=2');
    expect(text).toContain('href="/cnf/default/cnf-1?q=r&amp;page=3#search"');
  });
});

describe('the page of a rule', () => {
  it('says what `sdewan explain` says, with Events', async () => {
    const { words, text } = await seen(usual, '/rule/default/FirewallRule/reject-80');
    for (const part of [
      'not in sync: AgentSilent',
      'An agent does not report',
      'cnf-1-b ✗ AgentSilent silent',
      'FirewallZone/lan ✓ in sync spec.src',
      'config rule &#39;sdewan_rule_reject_80&#39;',
      'Warning AgentSilent 2 an Event about it',
    ])
      expect(words).toContain(part);
    expect(text).toContain('href="/rule/default/FirewallZone/lan"');
  });

  it('has the interfaces of the networks only for viewers with the right to list pods', async () => {
    const path = '/rule/default/FirewallZone/lan';
    expect((await seen(usual, path)).words).toContain('net7');
    const may = (_: string, { resource }: Access) => resource !== 'pods';
    expect((await seen({ ...usual, may }, path)).words).not.toContain('net7');
  });

  it('shows no section of a kind that holds keys', async () => {
    const proposal = ruleOf('IpsecProposal', 'p', { encryption_algorithm: 'aes128' });
    const host = ruleOf('IpsecHost', 'h', {
      remote: '10.0.0.1',
      authentication_method: 'psk',
      pre_shared_key: 'planted-key',
      crypto_proposal: ['p'],
      connections: [],
    });
    const rules = [
      proposal,
      {
        ...host,
        metadata: {
          ...host.metadata,
          annotations: { presharedKey: 'planted-key', note: 'it is planted-key' },
        },
      },
    ];
    const { words, text } = await seen({ rules }, '/rule/default/IpsecHost/h');
    expect(words).toContain('its sections can have keys');
    expect(words).toMatch(
      /YAML, without secrets .* remote: 10.0.0.1 .* pre_shared_key: &quot;\[secret|pre_shared_key: .*\[secret/,
    );
    expect(text).not.toContain('planted-key');
  });

  it('reads no more of a large CNF than what the rule refers to', async () => {
    const many = Array.from({ length: 600 }, (_, at) => ruleOf('FirewallRule', `r${at}`, spec));
    const { words } = await seen({ rules: [zone, ...many] }, '/rule/default/FirewallRule/r7');
    expect(words).toContain('its CNF has 601 rules');
    expect(words).toContain('FirewallZone/lan ✓ in sync spec.src');
    expect(words).toContain('sdewan_rule_r7');
  });
});

it('explains a rule of a CNF with many NetworkPolicies as any other', async () => {
  const policies = Array.from({ length: 600 }, (_, at) =>
    ruleOf('PolicyEnforcement', `shop.p${at}.1a2b`, {}),
  );
  const given = { ...usual, rules: [zone, out, ...policies] };
  const { words } = await seen(given, '/rule/default/FirewallZone/lan');
  expect(words).toContain('FirewallRule/reject-80 ✗ AgentSilent spec.src');
  expect(words).not.toContain('its CNF has');
});

describe('a coordinator that has just started', () => {
  it('says that it still reads rules and pods', async () => {
    const { words } = await seen({ notReady: ['FirewallRule: not listed yet'] }, '/');
    expect(words).toContain('still reading rules and pods');
    expect(words).not.toContain('What to do first');
  });

  it('says that it still listens, and not that agents are broken', async () => {
    const { clock, get, signIn } = dashboardOf({ rules: [zone], pods });
    const page = async () =>
      wordsOf(await (await get('/cnf/default/cnf-1', await signIn())).text());
    expect(await page()).toContain('still listening');
    expect(await page()).toContain('has not reported to this coordinator yet');
    clock.advance(SILENT_AFTER_MS);
    expect(await page()).not.toContain('still listening');
    expect(await page()).toContain('the agent has not reported yet');
  });
});

describe('a viewer of namespace a', () => {
  const SECRET = 'hidden-b';
  const inB = { namespace: 'b', labels: { sdewanPurpose: `cnf-${SECRET}` } };
  const cluster: Partial<Cluster> = {
    rules: [
      zone,
      out,
      withStatus(ruleOf('FirewallRule', SECRET, spec, inB), ready(false, SECRET, SECRET)),
    ],
    pods: [...pods, podOf(SECRET, { namespace: 'b', purpose: `cnf-${SECRET}` })],
    reports,
    events: [
      event,
      {
        ...event,
        namespace: 'b',
        message: SECRET,
        involved: { kind: 'FirewallRule', name: SECRET, uid: 'b' },
      },
      {
        ...event,
        namespace: 'b',
        message: SECRET,
        involved: { kind: 'Pod', name: SECRET, uid: 'p' },
      },
    ],
    may: (_, { namespace }) => namespace === 'default',
  };

  it.each([
    '/',
    '/?namespace=b',
    `/?q=cnf`,
    '/events',
    '/events?namespace=b',
    `/cnf/b/cnf-${SECRET}`,
    `/cnf/b/cnf-${SECRET}?q=x`,
    '/cnf/b/-',
    `/rule/b/FirewallRule/${SECRET}`,
  ])('gets nothing of b at %s', async (path) => {
    const { text } = await seen(cluster, path);
    // But for what he has written himself.
    expect(text.replaceAll(decodeURIComponent(path), '')).not.toContain(SECRET);
  });

  it.each([
    ['a CNF', `/cnf/b/cnf-${SECRET}`, '/cnf/b/cnf-none'],
    ['a rule', `/rule/b/FirewallRule/${SECRET}`, '/rule/b/FirewallRule/none'],
    ['a namespace', '/cnf/b/x', '/cnf/none/x'],
  ])('cannot tell whether %s of b is there', async (_, there, none) => {
    const answers = await Promise.all([there, none, '/nothing'].map((path) => seen(cluster, path)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(404);
  });

  it('sees a all the same', async () => {
    expect((await seen(cluster, '/')).text).toContain('/cnf/default/cnf-1');
    expect((await seen(cluster, '/events')).text).toContain('an Event about it');
  });

  it('sees nothing more of a a minute after he has lost the right', async () => {
    const { clock, cluster: now, get, signIn } = dashboardOf(cluster);
    const cookie = await signIn();
    const path = '/rule/default/FirewallRule/reject-80';
    expect((await get(path, cookie)).status).toBe(200);
    now.may = () => false;
    clock.advance(60_000);
    expect((await get(path, cookie)).status).toBe(404);
    expect(await (await get('/', cookie)).text()).not.toContain('/cnf/default');
  });

  it('learns nothing from an API server that does not answer', async () => {
    const failing = async () => {
      const { get, signIn, cluster: now } = dashboardOf(cluster);
      const cookie = await signIn();
      now.may = () => {
        throw new KubeError('create', `access to ${SECRET}`, { status: 0, reason: 'Timeout' });
      };
      return get('/', cookie);
    };
    const answer = await failing();
    expect(answer.status).toBe(503);
    expect(await answer.text()).not.toContain(SECRET);
  });
});

it('shows a viewer with rights to some kinds these alone, and which rights lack', async () => {
  const may = (_: string, { resource }: Access) => resource === 'firewallzones';
  const { words } = await seen({ ...usual, may }, '/cnf/default/cnf-1');
  expect(words).toContain('1 of 1 rules are in sync');
  expect(words).toContain('You may not list');
  for (const hidden of ['reject-80', 'node-1', 'cnf-1-b']) expect(words).not.toContain(hidden);
  const { words: all } = await seen({ ...usual, may }, '/');
  expect(all).toContain('1 of 1 not shown');
});

describe('what others write', () => {
  const EVIL = '<script>alert(1)</script>"\'><img src=x onerror=alert(1)>';
  const hostile: Partial<Cluster> = {
    rules: [
      withStatus(ruleOf('FirewallRule', EVIL, spec, { labels: { sdewanPurpose: EVIL } }), {
        ...ready(false, EVIL, EVIL),
        outOfSync: [{ pod: EVIL, reason: EVIL, message: EVIL }],
      }),
      withStatus(ruleOf('PolicyEnforcement', EVIL, spec, { labels: { sdewanPurpose: EVIL } }), {
        ...ready(false, EVIL, EVIL),
        selectedPods: { selected: 1, enforced: 0, summary: '<b>' },
        notEnforced: [{ reason: '<b>', pods: 1, examples: [EVIL] }],
      }),
    ],
    pods: [podOf(EVIL, { purpose: EVIL, notReady: EVIL, ready: false })],
    reports: new Map([
      [
        `uid-${EVIL}`,
        report([], { openwrt: { reachable: true, driver: EVIL, message: EVIL, driftRepairs: 0 } }),
      ],
    ]),
    events: [
      {
        ...event,
        involved: { kind: 'FirewallRule', name: EVIL, uid: `FirewallRule-${EVIL}` },
        reason: EVIL,
        message: EVIL,
        type: EVIL,
      },
    ],
    information: {
      wans: [{ interface: EVIL, up: false, status: EVIL }],
      tunnels: [{ name: EVIL, up: false, state: EVIL, starts: true, words: EVIL }],
    },
    rollOuts: [
      withStatus(ruleOf('CNFDeployment', EVIL, {}, { labels: { sdewanPurpose: EVIL } }), {
        stage: EVIL,
        stageTime: EVIL,
        waitsFor: [EVIL],
        active: EVIL,
        conditions: [
          {
            type: 'Degraded',
            status: 'True',
            reason: EVIL,
            message: EVIL,
            lastTransitionTime: EVIL,
          },
        ],
      }),
    ],
    users: new Map([['token-of-ann', { user: { username: EVIL, groups: [] }, endsAt: undefined }]]),
  };
  const coded = encodeURIComponent(EVIL);

  it.each([
    '/',
    `/?q=${coded}&namespace=${coded}`,
    `/cnf/default/${coded}`,
    `/cnf/default/${coded}?q=${coded}&state=${coded}`,
    `/rule/default/FirewallRule/${coded}`,
    `/rule/default/PolicyEnforcement/${coded}`,
    `/firewall/default/${coded}`,
    '/events',
    `/${coded}`,
    `/enter?code=${coded}`,
  ])('stays text at %s', async (path) => {
    const { text } = await seen(hostile, path);
    expect(text.match(/<script/g)).toHaveLength(1);
    expect(text).toContain('<script src="/assets/live.js" defer></script>');
    expect(text).not.toContain('<img');
    // A quote of theirs ends no attribute.
    expect(text.replaceAll(/"[^"]*"/g, '""')).not.toMatch(/<[^>]* onerror/);
  });

  it('shows what changes the direction of writing or moves the cursor', async () => {
    const tricky = withStatus(
      ruleOf('FirewallRule', 'r', spec),
      ready(false, 'R', 'a\u202Eb\u0007'),
    );
    const { text } = await seen({ rules: [tricky] }, '/cnf/default/cnf-1');
    expect(text).toContain('a\\u202eb\\u0007');
  });
});
