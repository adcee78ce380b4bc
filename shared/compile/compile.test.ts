import { describe, expect, it } from 'vitest';
import { ORDER_ANNOTATION } from '../names.ts';
import { MAX_MESSAGE_LENGTH } from '../protocol/report.ts';
import { createCandidates } from './candidates.ts';
import { compile } from './compile.ts';
import { revisionOf } from './revision.ts';
import { ASSUMED, type IpsecService } from '../resources/capabilities.ts';
import { DELETING, inputOf, pemOf, namedSection, ruleOf } from './testing.ts';
import type { RuleObject } from '../kube/objects.ts';
import type { UciSection } from '../uci/model.ts';
import { networksIn } from './networks.ts';
import type { CompileInput, PodNetworks, Verdict } from './types.ts';

const lan = ruleOf('FirewallZone', 'lan1', { network: ['ovn-net1'], input: 'ACCEPT' });
const reject = ruleOf('FirewallRule', 'reject-80', {
  src: 'lan1',
  src_port: 80,
  proto: 'tcp',
  target: 'REJECT',
});

const summary = ({ verdict, reason, message, sections }: Verdict) => ({
  verdict,
  reason,
  message,
  sections: sections.map(({ name }) => name),
});
const names = (input: CompileInput) =>
  (compile(input).desired.get('firewall') ?? []).map(({ name }) => name);

describe('compile', () => {
  it('renders rules, and what they refer to before them', () => {
    const { desired, verdicts } = compile(inputOf([reject, lan]));
    expect(desired.get('firewall')).toEqual([
      namedSection('zone', 'sdewan_zone_lan1', {
        name: 'lan1',
        network: ['net1'],
        input: 'ACCEPT',
      }),
      namedSection('rule', 'sdewan_rule_reject_80', {
        name: 'reject-80',
        src: 'lan1',
        src_port: '80',
        proto: 'tcp',
        target: 'REJECT',
      }),
    ]);
    expect(verdicts.map(summary)).toEqual([
      { verdict: 'wanted', reason: 'Applying', message: '', sections: ['sdewan_rule_reject_80'] },
      { verdict: 'wanted', reason: 'Applying', message: '', sections: ['sdewan_zone_lan1'] },
    ]);
  });

  it('orders by annotation, then age, then kind, then name', () => {
    const at = (name: string, creationTimestamp: string, order?: string) =>
      ruleOf(
        'FirewallRule',
        name,
        {},
        {
          creationTimestamp,
          ...(order === undefined ? {} : { annotations: { [ORDER_ANNOTATION]: order } }),
        },
      );
    const rules = [
      at('young', '2026-01-03T00:00:00Z'),
      at('late', '2026-01-01T00:00:00Z', '10'),
      at('b', '2026-01-02T00:00:00Z'),
      at('a', '2026-01-02T00:00:00Z'),
      at('first', '2026-01-09T00:00:00Z', '-1'),
      ruleOf(
        'FirewallZone',
        'z',
        { network: ['ovn-net1'] },
        { creationTimestamp: '2026-01-02T00:00:00Z' },
      ),
    ];
    expect(names(inputOf(rules))).toEqual(
      ['rule_first', 'zone_z', 'rule_a', 'rule_b', 'rule_young', 'rule_late'].map(
        (n) => `sdewan_${n}`,
      ),
    );
  });

  it('configures what others refer to first, among rules of one age', () => {
    const rules = [ruleOf('FirewallForwarding', 'a', { src: 'lan1', dest: 'wan' }), reject, lan];
    const [, ...types] = (compile(inputOf(rules)).desired.get('firewall') ?? []).map(
      ({ type }) => type,
    );
    expect(types).toEqual(['forwarding', 'rule']);
  });

  it('names a few of the rules that may have been meant by one that is missing', () => {
    const zones = ['f', 'e', 'd', 'c', 'b', 'a'].map((name) =>
      ruleOf('FirewallZone', name, { network: ['ovn-net1'] }),
    );
    const rule = ruleOf('FirewallRule', 'r', { src: 'lan9' });
    const { verdicts } = compile(inputOf([rule, ...zones]));
    expect(verdicts.find(({ rule: of }) => of === rule)).toMatchObject({
      message: expect.stringMatching(/for this purpose; there is: a, b, c, d, e and 1 more$/),
    });
  });

  it("takes an administrator's zone as a reference", () => {
    const rule = ruleOf('FirewallRule', 'r', { src: 'wan', dest: '*' });
    expect(compile(inputOf([rule])).verdicts.map(summary)).toMatchObject([{ verdict: 'wanted' }]);
  });

  it.each<{ when: string; rule: Parameters<typeof ruleOf>; verdict: object }>([
    {
      when: 'the reference is missing',
      rule: ['FirewallRule', 'r', { src: 'lan9' }],
      verdict: {
        verdict: 'pending',
        reason: 'WaitingForReference',
        message: 'spec.src: waits for FirewallZone lan9, which does not exist for this purpose',
      },
    },
    {
      when: 'the network is unknown',
      rule: ['FirewallZone', 'z', { network: ['nowhere'] }],
      verdict: {
        verdict: 'failed',
        reason: 'UnknownNetwork',
        message:
          'spec.network[0]: the CNF pod has no network nowhere; it has: ovn-net1, ovn-net2, ovn-priv-net',
      },
    },
    {
      when: 'the spec is invalid, every fault with its path and no value',
      rule: [
        'FirewallRule',
        'r',
        { src_port: '80-70', proto: 'tcp', targt: 'DROP', icmp_type: ['x'] },
      ],
      verdict: {
        verdict: 'failed',
        reason: 'InvalidSpec',
        message:
          'spec.src_port: must be ports from 1 to 65535 or ranges such as 8000-8100, without leading zeros, separated by blanks, each with "!" in front to negate it; spec.icmp_type[0]: must be the name of an ICMP type such as echo-request, or its number as in 8 or 3/4, without leading zeros; spec: unknown to this version: targt',
      },
    },
    {
      when: 'a required field is missing',
      rule: ['FirewallZone', 'z', {}],
      verdict: { verdict: 'failed', reason: 'InvalidSpec', message: 'spec.network: is required' },
    },
    {
      when: 'fields do not go together',
      rule: ['FirewallRule', 'r', { target: 'MARK' }],
      verdict: {
        verdict: 'failed',
        reason: 'InvalidSpec',
        message: 'spec.target: MARK needs set_mark or set_xmark',
      },
    },
    {
      when: 'the order is no number',
      rule: ['FirewallRule', 'r', {}, { annotations: { [ORDER_ANNOTATION]: 'first' } }],
      verdict: {
        verdict: 'failed',
        reason: 'InvalidSpec',
        message: `metadata.annotations[${ORDER_ANNOTATION}]: must be a whole number`,
      },
    },
    {
      when: 'the name is too long',
      rule: ['FirewallZone', 'abcdefghijkl', { network: ['ovn-net1'] }],
      verdict: {
        verdict: 'failed',
        reason: 'NameTooLong',
        message:
          'metadata.name: the name must have at most 11 characters: firewall3 of OpenWRT allows no longer zone names',
      },
    },
    {
      when: "the name is an administrator's",
      rule: ['FirewallZone', 'wan', { network: ['ovn-net1'] }],
      verdict: {
        verdict: 'failed',
        reason: 'NameTaken',
        message:
          'metadata.name: OpenWRT already has a section of type zone with that name in package firewall, which the agent did not make (section wan)',
      },
    },
    {
      when: 'this version does not know the kind',
      rule: ['Unheard', 'r', {}],
      verdict: {
        verdict: 'failed',
        reason: 'InvalidSpec',
        message: 'this version does not know the kind Unheard',
      },
    },
  ])('leaves a rule out and says why when $when', ({ rule, verdict }) => {
    const { desired, verdicts } = compile(inputOf([ruleOf(...rule)]));
    expect(verdicts.map(summary)).toEqual([{ ...verdict, sections: [] }]);
    expect(desired.get('firewall')).toEqual([]);
  });

  it('waits where OpenWRT lacks the package', () => {
    const [verdict] = compile(inputOf([lan], { observed: new Map() })).verdicts;
    expect(verdict).toMatchObject({
      verdict: 'pending',
      reason: 'WaitingForPackage',
      message: 'OpenWRT has no /etc/config/firewall; install the package that it belongs to',
    });
  });

  it('says why a package cannot be read, and not that OpenWRT lacks it', () => {
    const why = 'the login on OpenWRT may not read /etc/config/keepalived';
    const address = ruleOf('VirtualAddress', 'v', { network: 'ovn-net1', addresses: ['10.0.1.9'] });
    const input = { observed: new Map(), unusable: new Map([['keepalived', why]]) };
    const [unread] = compile(inputOf([address], input)).verdicts;
    expect(unread).toMatchObject({
      verdict: 'pending',
      reason: 'WaitingForPackage',
      message: why,
    });
    const [missing] = compile(inputOf([address], { observed: new Map() })).verdicts;
    expect(missing).toMatchObject({ verdict: 'failed', reason: 'UnsupportedByDriver' });
  });

  it('says that a pod without networks has none', () => {
    const [verdict] = compile(inputOf([lan], { networks: new Map() })).verdicts;
    expect(verdict?.message).toBe(
      'spec.network[0]: the CNF pod has no network ovn-net1; it has: none',
    );
  });

  describe('networks of Multus', () => {
    const texts = (selections: string, status?: string) =>
      networksIn({ namespace: 'default', nodus: undefined, selections, status });
    const zoneOn = (...network: string[]) => ruleOf('FirewallZone', 'z', { network });
    const judged = (rule: RuleObject, networks: PodNetworks) => {
      const { verdicts, desired } = compile(inputOf([rule], networks));
      const [{ verdict, reason, message } = {}] = verdicts;
      return { verdict, reason, message, desired };
    };

    it('are waited for, with all that is known, and followed to their interfaces', () => {
      const selections = 'lan, apps/wan@wan0';
      const expected = {
        verdict: 'pending',
        reason: 'WaitingForNetwork',
        message:
          'spec.network[1]: network-status of the CNF pod does not say yet which interface network lan is; it has: apps/wan, lan',
      };
      expect(judged(zoneOn('apps/wan', 'lan'), texts(selections))).toMatchObject(expected);
      const status = '[{"name":"default/lan","interface":"net1"}]';
      const { verdict, desired } = judged(
        zoneOn('apps/wan', 'lan', 'default/lan'),
        texts(selections, status),
      );
      expect(verdict).toBe('wanted');
      expect(desired.get('firewall')?.[0]?.options['network']).toEqual(['wan0', 'net1']);
    });

    it('need the interface where an attachment is there twice, and wait for that as well', () => {
      const once = texts('lan,lan');
      expect(judged(zoneOn('lan@net1'), once)).toMatchObject({ reason: 'WaitingForNetwork' });
      expect(judged(zoneOn('lan'), once)).toMatchObject({ reason: 'UnknownNetwork' });
      const status =
        '[{"name":"default/lan","interface":"net1"},{"name":"default/lan","interface":"net2"}]';
      const twice = texts('lan,lan', status);
      expect(judged(zoneOn('lan@net1'), twice)).toMatchObject({ verdict: 'wanted' });
      expect(judged(zoneOn('lan'), twice)).toMatchObject({
        verdict: 'failed',
        reason: 'UnknownNetwork',
        message:
          'spec.network[0]: lan may be each of these networks of the CNF pod: default/lan@net1, default/lan@net2',
      });
      expect(judged(zoneOn('lan@net3'), twice)).toMatchObject({ reason: 'UnknownNetwork' });
    });

    it('are one member of a policy, by whichever name', () => {
      const member = (network: string) => ({ network, metric: 1, weight: 1 });
      const policy = ruleOf('Mwan3Policy', 'p', {
        members: [member('lan'), member('default/lan')],
      });
      expect(judged(policy, texts('lan@net1'))).toMatchObject({
        verdict: 'failed',
        reason: 'InvalidSpec',
      });
    });
  });

  it('looks anew at names where another section of others stands for one', () => {
    const candidates = createCandidates();
    const input = inputOf([lan]);
    const reasonBeside = (name: string) => {
      const sections = [namedSection('zone', 'cfg02', { name })];
      const observed = new Map([...input.observed, ['firewall', { name: 'firewall', sections }]]);
      return compile({ ...input, observed }, candidates).verdicts[0]?.reason;
    };
    expect(['other', 'lan1', 'other'].map(reasonBeside)).toEqual([
      'Applying',
      'NameTaken',
      'Applying',
    ]);
  });

  const keyed = (name: string, key: string) =>
    ruleOf('IpsecHost', name, {
      remote: 'vpn.example.com',
      authentication_method: 'psk',
      pre_shared_key: key,
      crypto_proposal: ['p1'],
      connections: [{ name: `of-${name}`, conn_type: 'tunnel', mode: 'route' }],
    });
  const proposal = ruleOf('IpsecProposal', 'p1', { encryption_algorithm: 'aes128' });
  const vip = (name: string, last: number) =>
    ruleOf('VirtualAddress', name, {
      network: 'ovn-net1',
      virtualRouterId: last,
      addresses: [`10.1.2.${last}/24`],
    });
  it.each<[string, RuleObject[], RuleObject[]]>([
    [
      'clashes with another',
      [proposal, keyed('a', '1'), keyed('b', '1')],
      [proposal, keyed('a', '1'), keyed('b', '2')],
    ],
    ['takes the address of another', [vip('a', 1), vip('b', 2)], [vip('a', 1), vip('b', 1)]],
    ['is to go', [lan], [{ ...lan, metadata: { ...lan.metadata, ...DELETING } }]],
    ['has its name anew', [lan], [{ ...lan, metadata: { ...lan.metadata, uid: 'another' } }]],
  ])('judges a rule that %s now as it judges all anew', (_what, rules, changed) => {
    const candidates = createCandidates();
    const withheld = new Map([['another', { reason: 'LostConnectivity' as const, message: '' }]]);
    const before = inputOf(rules, { withheld });
    compile(before, candidates);
    const now = { ...before, rules: changed };
    expect(compile(now, candidates)).toEqual(compile(now));
  });

  it('says of a rule that is refused why it is now', () => {
    const candidates = createCandidates();
    const input = inputOf([lan]);
    const messageAfter = (message: string) => {
      const refused = new Map([[lan.metadata.uid, { revision: revisionOf(lan), message }]]);
      return compile({ ...input, refused }, candidates).verdicts[0]?.message;
    };
    expect(['one', 'two'].map(messageAfter)).toEqual(['one', 'two']);
  });

  it('names why what a rule refers to is not in force', () => {
    const broken = ruleOf('FirewallZone', 'lan1', { network: ['nowhere'] });
    expect(compile(inputOf([reject, broken])).verdicts[0]?.message).toBe(
      'spec.src: waits for FirewallZone lan1, which is not in force (UnknownNetwork)',
    );
    const waiting = ruleOf('Mwan3Policy', 'p', { members: [] });
    const chained = [ruleOf('Mwan3Rule', 'r', { policy: 'p' }), waiting];
    expect(compile(inputOf(chained)).verdicts[0]?.message).toMatch(/Mwan3Policy p, which is not/);
  });

  it("waits for a zone of ours also where an administrator's has its name, and says so", () => {
    const ours = ruleOf('FirewallZone', 'wan', { network: ['ovn-net1'] });
    const forwarding = ruleOf('FirewallForwarding', 'f', { src: 'wan', dest: 'lan1' });
    const verdictFor = (...rules: RuleObject[]) =>
      compile(inputOf([forwarding, lan, ...rules])).verdicts.map(summary)[0];
    expect(verdictFor(ours)).toEqual({
      verdict: 'pending',
      reason: 'WaitingForReference',
      message: 'spec.src: waits for FirewallZone wan, which is not in force (NameTaken)',
      sections: [],
    });
    expect(verdictFor()).toMatchObject({ verdict: 'wanted' });
  });

  it('touches nothing of a rule that is withheld, and says why', () => {
    const why = { reason: 'LostConnectivity', message: 'cut off' } as const;
    const withheld = new Map([[lan.metadata.uid, why]]);
    const { desired, verdicts } = compile(inputOf([lan, reject], { withheld }));
    expect(desired.get('firewall')).toEqual([]);
    expect(verdicts.map(summary)).toMatchObject([
      { verdict: 'pending', ...why, sections: [] },
      { verdict: 'pending', reason: 'WaitingForReference' },
    ]);
  });

  it("fails where ICN's REST API does not have the kind, unless it only makes other rules", () => {
    const spec = { network: 'ovn-net1', addresses: ['192.168.1.1/24'] };
    const rules = ['VirtualAddress', 'CNFService'].map((kind) => ruleOf(kind, 'a', spec));
    const capabilities = { ...ASSUMED, dialect: 'icn' } as const;
    const [address, service] = compile(inputOf(rules, { capabilities })).verdicts.map(summary);
    expect(address).toMatchObject({
      verdict: 'failed',
      reason: 'UnsupportedByDriver',
      message: "kind: ICN's REST API does not support VirtualAddress; use driver ubus",
    });
    expect(service?.reason).not.toBe('UnsupportedByDriver');
  });

  it('says nothing more of a rule that is removed', () => {
    const going = ruleOf('FirewallZone', 'lan1', { network: ['ovn-net1'] }, DELETING);
    expect(compile(inputOf([going])).verdicts.map(summary)).toEqual([
      { verdict: 'unwanted', reason: 'Removing', message: '', sections: [] },
    ]);
  });

  it('leaves out what OpenWRT has refused, until it changes', () => {
    const refused = (revision: string) =>
      compile(
        inputOf([lan], { refused: new Map([['FirewallZone-lan1', { revision, message: 'no' }]]) }),
      ).verdicts[0];
    expect(refused(revisionOf(lan))).toMatchObject({ reason: 'RefusedByOpenwrt', message: 'no' });
    expect(refused('another')).toMatchObject({ verdict: 'wanted' });
  });

  it('gives a name that two CRs want to the older one', () => {
    const older = ruleOf('FirewallRule', 'a.b', {}, { creationTimestamp: '2025-01-01T00:00:00Z' });
    const younger = ruleOf('FirewallRule', 'a-b', {});
    const { verdicts } = compile(inputOf([younger, older]));
    expect(verdicts.map(summary)).toEqual([
      {
        verdict: 'failed',
        reason: 'NameConflict',
        message: 'metadata.name: OpenWRT has the same name for the older FirewallRule a.b',
        sections: [],
      },
      { verdict: 'wanted', reason: 'Applying', message: '', sections: ['sdewan_rule_a_b'] },
    ]);
  });

  it('gives it to the older one also where the younger one comes first by its order', () => {
    const older = ruleOf('FirewallRule', 'a.b', {}, { creationTimestamp: '2025-01-01T00:00:00Z' });
    const annotations = { [ORDER_ANNOTATION]: '-1' };
    const { verdicts } = compile(
      inputOf([ruleOf('FirewallRule', 'a-b', {}, { annotations }), older]),
    );
    expect(verdicts.map(({ reason }) => reason)).toEqual(['NameConflict', 'Applying']);
    const policy = ruleOf('Mwan3Policy', 'same', {}, { annotations: { [ORDER_ANNOTATION]: '1' } });
    const users = compile(inputOf([ruleOf('Mwan3Rule', 'same', {}), policy])).verdicts;
    expect(users[0]?.reason).toBe('NameConflict');
  });

  it.each([
    ['in the order of the input', (one: RuleObject, other: RuleObject) => [one, other]],
    ['in the other order', (one: RuleObject, other: RuleObject) => [other, one]],
  ])('gives a name to what others refer to, then to the first, %s', (_order, given) => {
    const policy = ruleOf('Mwan3Policy', 'same', {
      members: [{ network: 'ovn-net1', weight: 1, metric: 1 }],
    });
    const rule = ruleOf('Mwan3Rule', 'same', { policy: 'same' });
    const ofKinds = compile(inputOf(given(rule, policy))).verdicts;
    expect(
      ofKinds.filter(({ reason }) => reason === 'NameConflict').map(({ rule: { kind } }) => kind),
    ).toEqual(['Mwan3Rule']);
    const dash = ruleOf('FirewallRule', 'a-b', {});
    const dot = ruleOf('FirewallRule', 'a.b', {});
    const ofNames = compile(inputOf(given(dot, dash))).verdicts;
    expect(
      ofNames
        .filter(({ reason }) => reason === 'NameConflict')
        .map(({ rule: { metadata } }) => metadata.name),
    ).toEqual(['a.b']);
  });

  it("gives no rule the name of a section that is an administrator's", () => {
    const sections = [namedSection('policy', 'balance')];
    const observed = new Map([['mwan3', { name: 'mwan3', sections }]]);
    const rule = ruleOf('Mwan3Rule', 'balance', { policy: 'balance' });
    expect(compile(inputOf([rule], { observed })).verdicts.map(summary)).toEqual([
      {
        verdict: 'failed',
        reason: 'NameTaken',
        message:
          'metadata.name: OpenWRT already has a section of type policy with that name in package mwan3, which the agent did not make (section balance)',
        sections: [],
      },
    ]);
  });
});

describe('a last good generation', () => {
  const lastGood = (spec: unknown) =>
    new Map([['FirewallRule-reject-80', { spec, generation: 3, revision: 'older' }]]);
  const broken = ruleOf('FirewallRule', 'reject-80', { target: 'NO' }, { generation: 4 });

  it('stays in force while a newer one is invalid', () => {
    const input = inputOf([broken, lan], { lastGood: lastGood(reject.spec) });
    expect(compile(input).verdicts[0]).toMatchObject({
      verdict: 'failed',
      reason: 'InvalidSpec',
      generationInForce: 3,
      message: expect.stringMatching(/^spec\.target: /),
      sections: [{ package: 'firewall', name: 'sdewan_rule_reject_80' }],
    });
    expect(names(input)).toEqual(['sdewan_zone_lan1', 'sdewan_rule_reject_80']);
  });

  it('has a message no longer than a report takes', () => {
    const message = 'no '.repeat(MAX_MESSAGE_LENGTH);
    const refused = new Map([[lan.metadata.uid, { revision: revisionOf(lan), message }]]);
    const [verdict] = compile(inputOf([lan], { refused })).verdicts;
    expect(verdict?.message).toBe(message.slice(0, MAX_MESSAGE_LENGTH));
  });

  it('is known while a newer one is to replace it', () => {
    const changed = ruleOf('FirewallRule', 'reject-80', { target: 'DROP' }, { generation: 4 });
    const valid = { ...changed, spec: { ...(reject.spec as object), target: 'DROP' } };
    const [verdict] = compile(inputOf([valid, lan], { lastGood: lastGood(reject.spec) })).verdicts;
    expect(verdict).toMatchObject({
      verdict: 'wanted',
      generationInForce: 4,
      earlier: {
        generation: 3,
        package: 'firewall',
        sections: [{ name: 'sdewan_rule_reject_80', options: { target: 'REJECT' } }],
      },
    });
    expect(compile(inputOf([reject, lan])).verdicts[0]).not.toHaveProperty('earlier');
  });

  it('stays in force while a newer one waits', () => {
    const waiting = ruleOf('FirewallRule', 'reject-80', { src: 'lan9' }, { generation: 4 });
    expect(
      compile(inputOf([waiting, lan], { lastGood: lastGood(reject.spec) })).verdicts[0],
    ).toMatchObject({ verdict: 'pending', reason: 'WaitingForReference', generationInForce: 3 });
  });

  it('is dropped when what it refers to is gone', () => {
    expect(
      compile(inputOf([broken], { lastGood: lastGood(reject.spec) })).verdicts[0],
    ).toMatchObject({
      verdict: 'failed',
      reason: 'InvalidSpec',
      generationInForce: undefined,
      sections: [],
    });
  });

  it('does not exist on a fresh pod', () => {
    expect(names(inputOf([broken, lan]))).toEqual(['sdewan_zone_lan1']);
  });
});

describe('a rule that is being deleted', () => {
  const leaving = { ...lan, metadata: { ...lan.metadata, ...DELETING } };

  it('is unwanted when nothing refers to it', () => {
    const { desired, verdicts } = compile(inputOf([leaving]));
    expect(verdicts).toMatchObject([{ verdict: 'unwanted', reason: 'Removing', sections: [] }]);
    expect(desired.get('firewall')).toEqual([]);
  });

  it('is kept while a rule that stays refers to it', () => {
    const { verdicts } = compile(inputOf([leaving, reject]));
    expect(verdicts.map(summary)).toMatchObject([
      {
        verdict: 'pending',
        reason: 'InUse',
        message: 'stays in force because FirewallRule reject-80 refers to it',
        sections: ['sdewan_zone_lan1'],
      },
      { verdict: 'wanted' },
    ]);
  });

  it('is not kept by one that is being deleted, too', () => {
    const going = { ...reject, metadata: { ...reject.metadata, ...DELETING } };
    expect(compile(inputOf([leaving, going])).verdicts).toMatchObject([
      { verdict: 'unwanted' },
      { verdict: 'unwanted' },
    ]);
  });

  it('names what has its name and is not ours, where the name does not tell whose it is', () => {
    const namesakes = (kind: string, name: string, section: UciSection, of: string) =>
      compile(
        inputOf([ruleOf(kind, name, {}, DELETING)], {
          observed: new Map([[of, { name: of, sections: [section] }]]),
        }),
      ).verdicts.map(({ namesake }) => namesake);
    const policy = namedSection('policy', 'balance');
    expect(namesakes('Mwan3Policy', 'balance', policy, 'mwan3')).toEqual(['mwan3.balance']);
    expect(namesakes('Mwan3Policy', 'other', policy, 'mwan3')).toEqual([undefined]);
    expect(namesakes('CNFService', 'balance', policy, 'mwan3')).toEqual([undefined]);
  });

  it('releases its name', () => {
    const older = ruleOf(
      'FirewallRule',
      'a.b',
      {},
      {
        creationTimestamp: '2025-01-01T00:00:00Z',
        ...DELETING,
      },
    );
    const { verdicts } = compile(inputOf([older, ruleOf('FirewallRule', 'a-b', {})]));
    expect(verdicts).toMatchObject([{ verdict: 'unwanted' }, { verdict: 'wanted' }]);
  });
});

describe('devices', () => {
  const route = (dev: string) => ruleOf('CNFRoute', 'r', { dst: 'default', dev });

  it.each([
    ['#default', 'spec.dev: the CNF pod has no default route'],
    ['#10.9.9.9', 'spec.dev: the CNF pod has no device with the address 10.9.9.9'],
  ])('are waited for: %s', (dev, message) => {
    const devices = { defaultRoute: undefined, byAddress: new Map() };
    expect(compile(inputOf([route(dev)], { devices })).verdicts).toMatchObject([
      { verdict: 'pending', reason: 'WaitingForDevice', message, sections: [] },
    ]);
  });

  it('need an interface of the administrator where netifd is to route by them', () => {
    expect(compile(inputOf([route('tun0')])).verdicts).toMatchObject([
      {
        verdict: 'pending',
        reason: 'WaitingForInterface',
        message: "spec.dev: OpenWRT's network configuration has no interface on device tun0",
      },
    ]);
  });

  it('share the zone that stands for them, behind all others, until the last rule is gone', () => {
    const mark = (name: string) =>
      ruleOf('NetworkFirewallRule', name, { src: 'eth0', target: 'MARK', set_mark: 1 });
    const last = ruleOf('FirewallRule', 'z', {}, { creationTimestamp: '2027-01-01T00:00:00Z' });
    const shared = 'sdewan_device_sd9c32a8c7';
    expect(names(inputOf([mark('a'), mark('b'), last]))).toEqual([
      'sdewan_net_a',
      'sdewan_net_b',
      'sdewan_rule_z',
      shared,
    ]);
    expect(names(inputOf([mark('b'), last]))).toContain(shared);
    expect(names(inputOf([last]))).not.toContain(shared);
    const [verdict] = compile(inputOf([mark('a')])).verdicts;
    expect(verdict?.sections.map(({ name }) => name)).toEqual(['sdewan_net_a', shared]);
  });
});

describe('IPsec', () => {
  const proposal = ruleOf('IpsecProposal', 'p', { encryption_algorithm: 'aes128gcm16' });
  const site = (overrides: object) =>
    ruleOf('IpsecSite', 'hub', {
      remote: '203.0.113.1',
      authentication_method: 'psk',
      pre_shared_key_from: { name: 'vpn', key: 'psk' },
      crypto_proposal: ['p'],
      connections: [{ name: 'c', conn_type: 'tunnel', mode: 'start' }],
      ...overrides,
    });
  const verdictFor = (overrides: object, input: Partial<CompileInput> = {}) =>
    compile(inputOf([site(overrides), proposal], input)).verdicts[0];

  it('takes the key from a Secret, less the newline at its end', () => {
    const { desired } = compile(inputOf([site({}), proposal]));
    const remote = desired.get('ipsec')?.find(({ type }) => type === 'remote');
    expect(remote?.options.pre_shared_key).toBe('from-the-secret');
  });

  it.each([
    ['absent', 'there is no Secret vpn with key psk'],
    ['forbidden', 'the agent has no right to read Secret vpn'],
    [undefined, 'Secret vpn has no key psk'],
  ] as const)('waits for the Secret, and says why: %s', (unread, why) => {
    const unreadSecrets = new Map(unread ? [['vpn', unread]] : []);
    expect(verdictFor({}, { secrets: new Map(), unreadSecrets })).toMatchObject({
      verdict: 'pending',
      reason: 'WaitingForSecret',
      message: `spec.pre_shared_key_from: ${why}`,
    });
  });

  it.each([
    ['cannot be read', new Map<string, string>(), 'WaitingForSecret'],
    ['is malformed', new Map([['vpn/psk', 'no "key']]), 'InvalidSecret'],
  ])('keeps what OpenWRT has of ours while the Secret %s', (_what, secrets, reason) => {
    const before = compile(inputOf([site({}), proposal])).desired.get('ipsec') ?? [];
    const observed = new Map([['ipsec', { name: 'ipsec', sections: before }]]);
    const ledger = new Set(before.map(({ name }) => `ipsec.${name}`));
    const input = inputOf([site({ remote: 'elsewhere.example.com' }), proposal], {
      secrets,
      observed,
      ledger,
    });
    const { desired, verdicts } = compile(input);
    expect(desired.get('ipsec')).toEqual(before);
    expect(verdicts[0]).toMatchObject({ reason });
    // Sections of others are not ours to keep.
    const others = compile({ ...input, ledger: new Set<string>() }).desired.get('ipsec');
    expect(others?.some(({ type }) => type === 'remote')).toBe(false);
  });

  it('refuses a key in a Secret that would break out of its file, and does not repeat it', () => {
    const verdict = verdictFor({}, { secrets: new Map([['vpn/psk', 'geheim" : PSK "x']]) });
    expect(verdict).toMatchObject({ verdict: 'failed', reason: 'InvalidSecret' });
    expect(JSON.stringify(verdict?.message)).not.toContain('geheim');
  });

  describe('by certificates', () => {
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const certificate = pemOf('CERTIFICATE', 'own');
    const certificates = {
      authentication_method: 'pubkey',
      pre_shared_key_from: undefined,
      local_public_cert: base64(certificate),
      local_private_cert_from: { name: 'vpn', key: 'tls.key' },
    };
    const classic = { dialect: 'classic', settings: 'last' } as const;

    it('refers to files, and is not in force without them', () => {
      const { desired, verdicts } = compile(inputOf([site(certificates), proposal]));
      const files = desired.get('ipsec-files') ?? [];
      expect(files.map(({ options }) => options['content'])).toEqual([
        certificate,
        pemOf('PRIVATE KEY', 'not a real key, from the Secret'),
      ]);
      const remote = desired.get('ipsec')?.find(({ type }) => type === 'remote');
      expect(remote?.options).toMatchObject({
        local_public_cert: files[0]?.name,
        local_private_cert: files[1]?.name,
      });
      const held = verdicts[0]?.sections.filter((each) => each.package === 'ipsec-files');
      expect(held?.map(({ name }) => name)).toEqual(files.map(({ name }) => name));
    });

    it('has another file for another content, and no file without a user', () => {
      const pathsOf = (overrides: object) =>
        compile(inputOf([site({ ...certificates, ...overrides }), proposal]))
          .desired.get('ipsec-files')
          ?.map(({ name }) => name) ?? [];
      const [before = '', key] = pathsOf({});
      const other = base64(pemOf('CERTIFICATE', 'renewed'));
      const after = pathsOf({ local_public_cert: other });
      expect(after).toContain(key);
      expect(after).not.toContain(before);
      expect(pathsOf({ authentication_method: 'psk', pre_shared_key: 'K3y' })).toEqual([]);
    });

    it('keeps its files while the Secret cannot be read', () => {
      const before = compile(inputOf([site(certificates), proposal])).desired;
      const observed = new Map(
        ['ipsec', 'ipsec-files'].map((name) => [name, { name, sections: before.get(name) ?? [] }]),
      );
      const ledger = new Set(before.get('ipsec')?.map(({ name }) => `ipsec.${name}`));
      const changed = { ...certificates, local_public_cert: base64(pemOf('CERTIFICATE', 'new')) };
      const input = inputOf([site(changed), proposal], { secrets: new Map(), observed, ledger });
      const { desired, verdicts } = compile(input);
      expect(verdicts[0]).toMatchObject({ verdict: 'pending', reason: 'WaitingForSecret' });
      expect(desired.get('ipsec-files')).toEqual(before.get('ipsec-files'));
    });

    it.each<[string, object, Partial<CompileInput>, object]>([
      [
        'where OpenWRT cannot have files',
        {},
        { capabilities: { ...ASSUMED, ipsec: { ...classic, noCertificates: 'the reason' } } },
        { reason: 'UnsupportedByDriver', message: /^spec.authentication_method: .*the reason$/ },
      ],
      [
        'with a Secret that holds no key',
        {},
        { secrets: new Map([['vpn/tls.key', 'geheim']]) },
        {
          reason: 'InvalidSecret',
          message: /^spec.local_private_cert_from: [^g]*must be one private/,
        },
      ],
      [
        'with a certificate that is none',
        { local_public_cert: 'AAAA' },
        {},
        {
          reason: 'InvalidSpec',
          message: /^spec.local_public_cert: must be base64 of certificates/,
        },
      ],
      [
        'without a certificate',
        { local_public_cert: '' },
        {},
        { reason: 'InvalidSpec', message: /^spec.local_public_cert: pubkey needs/ },
      ],
      [
        'with two keys',
        { local_private_cert: base64(pemOf('PRIVATE KEY', 'other')) },
        {},
        { reason: 'InvalidSpec', message: /^spec.local_private_cert: pubkey needs either/ },
      ],
    ])('is refused %s', (_what, overrides, input, expected) => {
      const verdict = verdictFor({ ...certificates, ...overrides }, input);
      const { reason, message } = { message: /never/, reason: '', ...expected };
      expect(verdict).toMatchObject({ verdict: 'failed', reason });
      expect(verdict?.message).toMatch(message);
    });
  });

  it.each<[string, IpsecService['settings'], [string, string][], boolean]>([
    [
      'is off in the last section',
      'last',
      [
        ['a', '1'],
        ['globals', '0'],
      ],
      true,
    ],
    [
      'is on in the last section',
      'last',
      [
        ['globals', '0'],
        ['a', '1'],
      ],
      false,
    ],
    [
      'is off in globals',
      'globals',
      [
        ['globals', 'no'],
        ['a', '1'],
      ],
      true,
    ],
    ['is off elsewhere than in globals', 'globals', [['a', '0']], false],
  ])('has VTI wait or not where the switch %s', (_what, settings, sections, works) => {
    const there = sections.map(([name, value]) =>
      namedSection('ipsec', name, { rtinstall_enabled: value }),
    );
    const verdict = verdictFor(
      { type: 'VTI-based' },
      {
        capabilities: { ...ASSUMED, ipsec: { dialect: 'swanctl', settings } },
        observed: new Map([['ipsec', { name: 'ipsec', sections: there }]]),
      },
    );
    expect(verdict?.reason).toBe(works ? 'Applying' : 'WaitingForInterface');
  });

  it("waits with VTI for an option of the administrator's", () => {
    const observed = new Map([
      ['ipsec', { name: 'ipsec', sections: [namedSection('ipsec', 'ipsec', { debug: '0' })] }],
    ]);
    expect(verdictFor({ type: 'VTI-based' }, { observed })).toMatchObject({
      verdict: 'pending',
      reason: 'WaitingForInterface',
    });
  });

  it('refuses two parts of one rule that would be one section', () => {
    const connection = { name: 'c-d', conn_type: 'tunnel', mode: 'start' };
    expect(verdictFor({ connections: [connection, { ...connection, name: 'c.d' }] })).toMatchObject(
      {
        verdict: 'failed',
        reason: 'InvalidSpec',
        message:
          'spec.connections[1].name: two parts of the rule would be the same tunnel c_d on OpenWRT; choose another name',
        sections: [],
      },
    );
  });

  it('gives connections of one name to the older CR', () => {
    const younger = ruleOf('IpsecHost', 'other', site({}).spec, {
      creationTimestamp: '2026-02-01T00:00:00Z',
    });
    expect(compile(inputOf([younger, site({}), proposal])).verdicts).toMatchObject([
      { reason: 'NameConflict' },
      { verdict: 'wanted' },
      { verdict: 'wanted' },
    ]);
  });
});
