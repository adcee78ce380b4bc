import { createCandidates, type Candidates } from '#shared/compile/candidates.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DELETING, namedSection, ruleOf } from '#shared/compile/testing.ts';
import { ICN_FINALIZERS } from '#shared/names.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import type { UciPackage, UciSection } from '#shared/uci/model.ts';
import { OpenwrtPackageRefusedError } from '../openwrt/driver.ts';
import { inForceIn, NOTHING_KNOWN } from './rule-states.ts';
import {
  createOpenwrt,
  openAgent,
  statesOf,
  stateFolder,
  type MemoryOpenwrt,
  type TestAgent,
} from './testing.ts';

let folder: ReturnType<typeof stateFolder>;
let openwrt: MemoryOpenwrt;
let agent: TestAgent;
const restart = async (): Promise<void> => {
  agent = await openAgent(openwrt, folder.path);
};
beforeEach(async () => {
  folder = stateFolder();
  openwrt = createOpenwrt();
  await restart();
});
afterEach(() => folder[Symbol.dispose]());

const drop = (name: string, metadata: object = {}, target = 'DROP'): RuleObject =>
  ruleOf('FirewallRule', name, { target }, metadata);
const changed = (name: string, spec: object): RuleObject =>
  ruleOf('FirewallRule', name, spec, { generation: 2 });
const policy = (name: string): RuleObject =>
  ruleOf('Mwan3Policy', name, { members: [{ network: 'ovn-net1', metric: 1, weight: 1 }] });

const isRule = ({ type }: UciSection): boolean => type === 'rule';
const rulesIn = ({ sections }: UciPackage): string[] =>
  sections.filter(isRule).map(({ name }) => name.replace('sdewan_rule_', ''));
const rulesThere = (): string[] => rulesIn({ name: '', sections: openwrt.sections('firewall') });
const targets = (): unknown[] =>
  openwrt
    .sections('firewall')
    .filter(isRule)
    .map(({ options }) => options.target);
const put = (name: string, ...sections: UciSection[]): void => {
  openwrt.packages.set(name, { name, sections });
};

describe('a package that OpenWRT refuses even without a change', () => {
  beforeEach(() => {
    openwrt.onApply = (deltas) => {
      if (deltas.some((delta) => delta.package === 'firewall'))
        throw new OpenwrtPackageRefusedError('firewall', 'no such device');
    };
  });

  it('keeps no rule of other packages waiting, and its own rules say why', async () => {
    await agent.run([drop('a'), policy('p')]);
    expect(statesOf(agent)).toEqual({ a: 'pending WaitingForPackage', p: 'wanted Applying' });
    expect(openwrt.sections('mwan3').map(({ name }) => name)).toContain('p');
    expect(agent.standings.at(-1)?.verdicts[0]?.message).toBe(
      'OpenWRT refuses /etc/config/firewall even without a change by the agent: no such device',
    );
  });

  it('confirms the deletion of none of its rules', async () => {
    openwrt.onApply = () => undefined;
    await agent.run([drop('a')]);
    openwrt.onApply = () => {
      throw new OpenwrtPackageRefusedError('firewall', 'no such device');
    };
    await agent.run([drop('a', DELETING)]);
    expect([...(agent.standings.at(-1)?.removed ?? [])]).toEqual([]);
    expect(rulesThere()).toEqual(['a']);
  });

  it('is tried again with the next pass', async () => {
    await agent.run([drop('a')]);
    openwrt.onApply = () => undefined;
    await agent.run([drop('a')]);
    expect(statesOf(agent)).toEqual({ a: 'wanted Applying' });
    expect(rulesThere()).toEqual(['a']);
  });
});

describe('a pass', () => {
  it('reports a rule that has left its purpose for as long as anything of it is there', async () => {
    await agent.run([drop('a'), drop('b')]);
    openwrt.onApply = () => {
      throw new Error('no answer');
    };
    await expect(agent.run([drop('b')])).rejects.toThrow('no answer');
    await expect(agent.run([drop('b')])).rejects.toThrow('no answer');
    expect(statesOf(agent)).toEqual({ b: 'wanted Applying', a: 'unwanted Removing' });
    openwrt.onApply = () => undefined;
    await agent.run([drop('b')]);
    expect(statesOf(agent)).toEqual({ b: 'wanted Applying' });
    // It may come back.
    await agent.run([drop('a'), drop('b')]);
    await agent.run([drop('a'), drop('b')]);
    expect(statesOf(agent)).toEqual({ a: 'wanted Applying', b: 'wanted Applying' });
  });

  it('delays the next change for at least as long as its own took', async () => {
    openwrt.onApply = () => openwrt.clock.advance(300);
    await agent.run([drop('a')]);
    expect(agent.pace.waitMs()).toBeGreaterThanOrEqual(300);
    expect(agent.pace.waitMs()).toBeLessThanOrEqual(600);
    openwrt.clock.advance(600);
    await agent.run([drop('a')]);
    expect(agent.pace.waitMs()).toBe(0);
  });

  it('brings OpenWRT to the rules in one transaction, and writes nothing when it is there', async () => {
    const rules = [drop('a'), policy('p'), drop('b')];
    await agent.run(rules);
    expect(openwrt.transactions.map((deltas) => deltas.map((delta) => delta.package))).toEqual([
      ['firewall', 'mwan3'],
    ]);
    expect(rulesThere()).toEqual(['a', 'b']);
    expect(statesOf(agent)).toEqual({
      a: 'wanted Applying',
      b: 'wanted Applying',
      p: 'wanted Applying',
    });
    expect(inForceIn(agent.standings.at(-1) ?? NOTHING_KNOWN)).toContain('firewall.sdewan_rule_a');
    await agent.run(rules);
    expect(openwrt.transactions).toHaveLength(1);
    expect(agent.outcomes).toEqual(['done']);
  });

  it('gives the fingerprint of what it left', async () => {
    const left = await agent.run([drop('a')]);
    expect(left).toBe(JSON.stringify([...openwrt.packages.values()]));
    expect(await agent.run([drop('a')])).toBe(left);
  });

  it('reports what is known before it writes, and at the end', async () => {
    openwrt.onApply = () => expect(agent.standings).toHaveLength(1);
    await agent.run([drop('a')]);
    expect(agent.standings.map((standing) => inForceIn(standing).size)).toEqual([0, 1]);
    await agent.run([drop('a')]);
    expect(agent.standings).toHaveLength(3);
  });

  it('removes what no rule wants any more, and what an administrator made stays', async () => {
    const others = namedSection('rule', 'of_an_administrator');
    put('firewall', ...openwrt.sections('firewall'), others);
    await agent.run([drop('a'), drop('b')]);
    await agent.run([drop('a', DELETING), drop('b')]);
    expect(rulesThere()).toEqual(['of_an_administrator', 'b']);
    expect(statesOf(agent)).toMatchObject({ a: 'unwanted Removing' });
    expect(agent.standings.at(-1)?.removed).toEqual(new Set(['FirewallRule-a']));
  });

  it('leaves alone what is there for kinds that the API server does not serve', async () => {
    await agent.run([drop('a'), policy('p')]);
    await agent.run([], { unservedKinds: ['FirewallRule', 'Mwan3Policy'] });
    expect(rulesThere()).toEqual(['a']);
    expect(openwrt.sections('mwan3').map(({ name }) => name)).toContain('p');
  });

  it('writes a package once whose service may have lost it', async () => {
    await agent.run([drop('a')]);
    openwrt.reading = { doubtful: new Set(['firewall']) };
    await agent.run([drop('a')]);
    expect(openwrt.transactions).toHaveLength(2);
    expect(openwrt.transactions[1]?.map((delta) => delta.package)).toEqual(['firewall']);
  });

  it('does not try twice in one pass to remove what OpenWRT does not remove', async () => {
    await agent.run([drop('a')]);
    const sections = openwrt.sections('firewall');
    const stuck = new Set(['sdewan_rule_a']);
    openwrt.done = {
      observed: new Map([['firewall', { name: 'firewall', sections }]]),
      stuck: new Map([['firewall', stuck]]),
    };
    await agent.run([drop('a', DELETING)]);
    expect(openwrt.transactions).toHaveLength(2);
    expect(agent.standings.at(-1)?.removed).toEqual(new Set());
  });

  it('reports a deleted rule as removed from the pass that removed it, however many others are deleted meanwhile', async () => {
    const names = ['a', 'b', 'c', 'd'];
    await agent.run(names.map((name) => drop(name)));
    for (const [at] of names.entries()) {
      agent.standings.length = 0;
      await agent.run(names.map((name, index) => drop(name, index <= at ? DELETING : {})));
      const gone = agent.standings.map(({ removed }) => removed.size);
      expect(gone).toEqual([at, at + 1]);
    }
  });

  it('reports a deleted rule after a restart as removed only when every section of an unknown rule is gone', async () => {
    await agent.run([drop('a'), drop('b')]);
    await agent.run([drop('a'), drop('b', DELETING)]);
    await restart();
    put('firewall', ...openwrt.sections('firewall'), namedSection('rule', 'sdewan_rule_x'));
    agent.standings.length = 0;
    await agent.run([drop('a'), drop('b', DELETING)]);
    expect(agent.standings.map(({ removed }) => removed.size)).toEqual([0, 1]);
  });
});

describe('a pass of a pod that is paused', () => {
  const paused = { paused: true };
  const stopped = {
    kernel: {
      lacking: new Map([['firewall', new Map([['sdewan_rule_a', 'its table']])]]),
      incomparable: new Map(),
    },
  };

  it('writes nothing, whatever has changed, and reports what is there', async () => {
    await agent.run([drop('a'), drop('b')]);
    openwrt.reading = stopped;
    await agent.run([changed('a', { target: 'ACCEPT' }), drop('b', DELETING), policy('p')], paused);
    expect(openwrt.transactions).toHaveLength(1);
    expect(agent.drifts).toEqual([]);
    const standing = agent.standings.at(-1);
    expect(standing).toMatchObject({ paused: true, removed: new Set() });
    expect(inForceIn(standing ?? NOTHING_KNOWN)).toEqual(new Set());
    expect([...(standing?.lacking.values() ?? [])]).toEqual(['its table']);
    expect(statesOf(agent)).toMatchObject({ b: 'unwanted Removing' });
  });

  it('is followed by one that does all of it, the kernel included', async () => {
    await agent.run([drop('a')]);
    openwrt.reading = stopped;
    await agent.run([drop('a'), drop('c')], paused);
    openwrt.done = { kernel: { lacking: new Map(), incomparable: new Map() } };
    await agent.run([drop('a')]);
    expect(openwrt.transactions).toHaveLength(2);
    expect(agent.drifts).toEqual([['firewall']]);
    expect(inForceIn(agent.standings.at(-1) ?? NOTHING_KNOWN)).toContain('firewall.sdewan_rule_a');
  });
});

describe('drift', () => {
  const rules = [drop('a'), drop('b')];
  const withoutB = (): void => {
    const sections = openwrt.sections('firewall');
    put('firewall', ...sections.filter(({ name }) => name !== 'sdewan_rule_b'));
  };

  it('is repaired, and counted for its package', async () => {
    await agent.run(rules);
    withoutB();
    await agent.run(rules);
    expect(agent.drifts).toEqual([['firewall']]);
    expect(agent.driftedSections).toEqual([
      { package: 'firewall', section: 'sdewan_rule_b', uid: rules[1]?.metadata.uid },
    ]);
    expect(rulesThere()).toEqual(['a', 'b']);
  });

  describe('on an OpenWRT that has restarted', () => {
    const restartWith = (...kept: string[]): void => {
      openwrt.reading = { incarnation: 'two' };
      const sections = openwrt.sections('firewall');
      put('firewall', ...sections.filter((one) => !isRule(one) || kept.includes(one.name)));
    };

    it('is told once for a package of which nothing of ours is left, and of no rule', async () => {
      await agent.run([...rules, policy('p')]);
      restartWith();
      await agent.run([...rules, policy('p')]);
      expect(agent.drifts).toEqual([['firewall']]);
      expect(agent.driftedSections).toEqual([{ package: 'firewall', section: '*', whole: true }]);
      expect(rulesThere()).toEqual(['a', 'b']);
    });

    it('is told of each rule where some are as they were', async () => {
      await agent.run(rules);
      restartWith('sdewan_rule_a');
      await agent.run(rules);
      expect(agent.driftedSections).toEqual([
        { package: 'firewall', section: 'sdewan_rule_b', uid: rules[1]?.metadata.uid },
      ]);
    });
  });

  it('is told of each rule when all of them are removed by hand', async () => {
    await agent.run(rules);
    put('firewall', ...openwrt.sections('firewall').filter((section) => !isRule(section)));
    await agent.run(rules);
    expect(agent.driftedSections.map(({ section }) => section)).toEqual([
      'sdewan_rule_a',
      'sdewan_rule_b',
    ]);
  });

  it.each<[string, RuleObject[]]>([
    ['one rule more', [...rules, drop('c')]],
    ['one rule less', [drop('a')]],
    ['another spec', [drop('a'), changed('b', { target: 'ACCEPT' })]],
    ['another rule instead', [drop('a'), drop('c')]],
  ])('is not what %s makes', async (_name, next) => {
    await agent.run(rules);
    await agent.run(next);
    expect(agent.drifts).toEqual([]);
  });

  it('is not what an agent that has just started finds', async () => {
    await agent.run(rules);
    withoutB();
    await restart();
    await agent.run(rules);
    expect(agent.drifts).toEqual([]);
    expect(rulesThere()).toEqual(['a', 'b']);
  });
});

describe('the last good spec', () => {
  const invalid = changed('a', { target: 'nonsense' });

  it('stays in force while the new one is invalid, also after a restart', async () => {
    await agent.run([drop('a')]);
    await agent.run([invalid]);
    await restart();
    put('firewall', ...openwrt.sections('firewall').filter((section) => !isRule(section)));
    await agent.run([invalid]);
    expect(targets()).toEqual(['DROP']);
    expect(statesOf(agent)).toEqual({ a: 'failed InvalidSpec' });
  });

  it('is forgotten when the rule has gone', async () => {
    await agent.run([drop('a')]);
    await agent.run([drop('a', DELETING)]);
    await agent.run([invalid]);
    expect(rulesThere()).toEqual([]);
  });

  it('is used when a newer one was never in force', async () => {
    await agent.run([drop('a')]);
    openwrt.refuses = (next) =>
      next.get('firewall')?.sections.some(({ options }) => options.target === 'REJECT')
        ? { package: 'firewall', message: 'no', sections: ['sdewan_rule_a'] }
        : undefined;
    await agent.run([changed('a', { target: 'REJECT' })]);
    expect(targets()).toEqual(['DROP']);
    expect(statesOf(agent)).toEqual({ a: 'failed RefusedByOpenwrt' });
  });

  it('goes back into force when OpenWRT leaves the new one out', async () => {
    await agent.run([drop('a')]);
    openwrt.done = { warnings: new Map([['firewall', new Map([['sdewan_rule_a', 'skipped']])]]) };
    openwrt.onApply = () => {
      if (openwrt.transactions.length === 2) openwrt.done = {};
    };
    await agent.run([changed('a', { target: 'REJECT' })]);
    expect(targets()).toEqual(['DROP']);
    expect(agent.outcomes).toEqual(['done', 'done', 'done']);
  });
});

describe('the ledger', () => {
  const P = 'mwan3.p';

  it('names what may be written, and the package, before OpenWRT is written to', async () => {
    openwrt.onApply = () => {
      expect(agent.ledger.record().owned.get(P)).toBe('Mwan3Policy');
      expect(agent.ledger.record().unsettled).toEqual(new Set(['mwan3']));
    };
    await agent.run([policy('p')]);
    expect(openwrt.transactions).toHaveLength(1);
    expect(agent.ledger.record().unsettled).toEqual(new Set());
    expect([...agent.ledger.record().owned.keys()]).toContain(P);
  });

  it('needs no names of sections that are marked as ours by their names', async () => {
    await agent.run([drop('a')]);
    expect(agent.ledger.record().owned).toEqual(new Map());
  });

  it('forgets what was read back as gone, and nothing that could not be read', async () => {
    await agent.run([policy('p')]);
    const there = openwrt.packages.get('mwan3');
    openwrt.packages.delete('mwan3');
    await agent.run([drop('a')]);
    expect(agent.ledger.record().owned.has(P)).toBe(true);
    if (there) openwrt.packages.set('mwan3', there);
    await agent.run([drop('a')]);
    expect(agent.ledger.record().owned.has(P)).toBe(false);
  });

  it('settles a transaction whose end was not seen by another one', async () => {
    openwrt.onApply = () => {
      throw new Error('the agent dies here');
    };
    await expect(agent.run([policy('p')])).rejects.toThrow('dies');
    openwrt.onApply = () => undefined;
    await restart();
    await agent.run([]);
    expect(openwrt.transactions.map((deltas) => deltas.map((delta) => delta.package))).toEqual([
      ['mwan3'],
    ]);
    expect(agent.ledger.record().unsettled).toEqual(new Set());
  });

  it('has tunnels of what goes until a write has ended them, also after a crash', async () => {
    const rules = [
      ruleOf('IpsecProposal', 'prop', { encryption_algorithm: 'aes256', dh_group: 'ecp256' }),
      ruleOf('IpsecSite', 'site', {
        remote: '203.0.113.1',
        authentication_method: 'psk',
        pre_shared_key: 'k',
        crypto_proposal: ['prop'],
        connections: [{ name: 'net', conn_type: 'tunnel', mode: 'add' }],
      }),
    ];
    openwrt.done = { tunnelsEnded: true };
    await agent.run(rules);
    openwrt.refuses = (next) => {
      openwrt.packages = new Map(next);
      throw new Error('the agent dies here');
    };
    await expect(agent.run(rules.slice(0, 1))).rejects.toThrow('dies');
    openwrt.refuses = () => undefined;
    await restart();
    expect(agent.ledger.record().ending).toEqual(['site', 'site/net']);
    await agent.run(rules.slice(0, 1));
    expect(openwrt.endings).toEqual([[], ['site', 'site/net'], ['site', 'site/net']]);
    expect(agent.ledger.record().ending).toEqual([]);
  });
});

const many = (count: number): RuleObject[] =>
  Array.from({ length: count }, (_, at) => drop(`r${String(at).padStart(3, '0')}`));
const refuseThose =
  (isBad: (name: string) => boolean, names: string[] = []): MemoryOpenwrt['refuses'] =>
  (next) => {
    const there = next.get('firewall') ?? { name: '', sections: [] };
    return rulesIn(there).some(isBad)
      ? { package: 'firewall', message: 'no such thing', sections: names }
      : undefined;
  };

/** As when another writer has changed it since it was written: the first so many times. */
const lacking = (rule: string, times: number): MemoryOpenwrt['refuses'] => {
  let left = times;
  return (next) => {
    const refusal = refuseThose((name) => name === rule, [`sdewan_rule_${rule}`])(next);
    if (refusal === undefined || left === 0) return undefined;
    left -= 1;
    return { ...refusal, perhapsOthers: true };
  };
};

describe('of a set that OpenWRT refuses', () => {
  it('leaves out the rule that it names, and applies the others', async () => {
    openwrt.refuses = refuseThose((name) => name === 'b', ['sdewan_rule_b']);
    await agent.run([drop('a'), drop('b')]);
    expect(rulesThere()).toEqual(['a']);
    expect(statesOf(agent)).toEqual({ a: 'wanted Applying', b: 'failed RefusedByOpenwrt' });
    expect(agent.outcomes).toEqual(['rejected', 'done']);
    expect(agent.ledger.record().unsettled).toEqual(new Set());
  });

  it('writes a rule that the read-back lacks once again at once, and does not blame it', async () => {
    openwrt.refuses = lacking('b', 1);
    await agent.run([drop('a'), drop('b')]);
    expect(rulesThere()).toEqual(['a', 'b']);
    expect(statesOf(agent)).toEqual({ a: 'wanted Applying', b: 'wanted Applying' });
    expect(agent.outcomes).toEqual(['rejected', 'done']);
  });

  it('leaves out a rule that two read-backs lack, and applies the others', async () => {
    openwrt.refuses = lacking('b', Infinity);
    await agent.run([drop('a'), drop('b')]);
    expect(rulesThere()).toEqual(['a']);
    expect(statesOf(agent)).toEqual({ a: 'wanted Applying', b: 'failed RefusedByOpenwrt' });
    expect(agent.outcomes).toEqual(['rejected', 'rejected', 'done']);
  });

  it('searches in bounded tries for what each read-back lacks, and OpenWRT never names', async () => {
    const refuses = refuseThose((name) => name === 'r007');
    openwrt.refuses = (next) => {
      const refusal = refuses(next);
      return refusal && { ...refusal, perhapsOthers: true };
    };
    await agent.run(many(20));
    expect(rulesThere()).toHaveLength(19);
    expect(statesOf(agent)).toMatchObject({ r007: 'failed RefusedByOpenwrt' });
  });

  it('tries the rule again when OpenWRT has restarted', async () => {
    openwrt.refuses = refuseThose((name) => name === 'b', ['sdewan_rule_b']);
    await agent.run([drop('b')]);
    openwrt.refuses = () => undefined;
    await agent.run([drop('b')]);
    expect(rulesThere()).toEqual([]);
    openwrt.reading = { incarnation: 'two' };
    await agent.run([drop('b')]);
    expect(rulesThere()).toEqual(['b']);
  });

  it('finds the rule that it does not name, and applies the others', async () => {
    openwrt.refuses = refuseThose((name) => name === 'r007');
    await agent.run(many(20));
    expect(rulesThere()).toEqual(
      many(20)
        .map(({ metadata }) => metadata.name)
        .filter((name) => name !== 'r007'),
    );
    expect(statesOf(agent)).toMatchObject({
      r006: 'wanted Applying',
      r007: 'failed RefusedByOpenwrt',
    });
  });

  it('does not report a rule for ever as refused that is left out meanwhile', async () => {
    openwrt.refuses = refuseThose((name) => name === 'r000');
    await agent.run(many(8));
    openwrt.refuses = () => undefined;
    await agent.run([...many(8).slice(1), drop('new')]);
    expect(Object.values(statesOf(agent))).toEqual(many(8).map(() => 'wanted Applying'));
  });

  it('counts what a driver without transactions has already written', async () => {
    let calls = 0;
    openwrt.refuses = (next) => {
      calls += 1;
      if (calls > 1) return undefined;
      const mwan3 = next.get('mwan3') ?? { name: 'mwan3', sections: [] };
      openwrt.packages.set('mwan3', mwan3);
      return {
        package: 'firewall',
        message: 'no',
        sections: ['sdewan_rule_a'],
        partly: {
          observed: new Map([['mwan3', mwan3]]),
          fingerprint: 'partly',
          unsettled: new Set(['mwan3']),
        },
      };
    };
    await agent.run([drop('a'), policy('p')]);
    // Its sections are there; what is left is to reload it.
    expect(openwrt.transactions[1]?.map((delta) => [delta.package, delta.append.length])).toEqual([
      ['mwan3', 0],
    ]);
    expect(agent.ledger.record().unsettled).toEqual(new Set());
    expect(statesOf(agent)).toEqual({ a: 'failed RefusedByOpenwrt', p: 'wanted Applying' });
  });
});

describe('what ICN made', () => {
  const ICN = { finalizers: [ICN_FINALIZERS[0] ?? ''] };
  const made = (name: string, target = 'DROP', place = 9): UciSection => ({
    ...namedSection('rule', `cfg0${place}92bd`, { name, target }),
    anonymous: true,
  });
  const NAME = 'sdewan_rule_a';
  const OURS = `firewall.${NAME}`;
  const withMade = (...sections: UciSection[]): void =>
    put('firewall', ...openwrt.sections('firewall'), ...sections);
  const deltas = () => openwrt.transactions.flat();
  const takenOver = () => Object.fromEntries(agent.ledger.record().takenOver);
  const isOurs = { uid: 'FirewallRule-a', stage: 'ours' };
  const before = (): UciSection[] => [...openwrt.sections('firewall')];

  it('is not reported as removed by a pod that is paused before its section was adopted', async () => {
    withMade(made('a'));
    await agent.run([drop('a', { ...ICN, ...DELETING })], { paused: true });
    expect(openwrt.renames).toEqual([]);
    expect(agent.standings.at(-1)?.removed).toEqual(new Set());
  });

  it('gets our name in its place before anything else is written, and nothing more when it is as the rule says', async () => {
    withMade(made('a'), namedSection('rule', 'behind'));
    const sections = before();
    await agent.run([drop('a', ICN)]);
    expect(openwrt.renames).toEqual([[{ package: 'firewall', section: made('a'), name: NAME }]]);
    expect(openwrt.transactions).toEqual([]);
    expect(openwrt.sections('firewall')).toEqual(
      sections.map((section) =>
        section.anonymous ? { ...section, name: NAME, anonymous: false } : section,
      ),
    );
    expect(takenOver()).toEqual({ [OURS]: isOurs });
    expect(agent.ledger.record().owned.get(OURS)).toBe('FirewallRule');
    expect(inForceIn(agent.standings.at(-1) ?? NOTHING_KNOWN)).toContain(OURS);
    await restart();
    await agent.run([drop('a', ICN)]);
    expect(openwrt.renames).toHaveLength(1);
    expect(takenOver()).toEqual({ [OURS]: isOurs });
  });

  it('is changed where it is', async () => {
    withMade(made('a', 'ACCEPT'), namedSection('rule', 'behind'));
    await agent.run([drop('a', ICN)]);
    expect(deltas().map(({ set }) => set.map(({ after }) => after.name))).toEqual([[NAME]]);
    expect(
      openwrt
        .sections('firewall')
        .map(({ name }) => name)
        .slice(-2),
    ).toEqual([NAME, 'behind']);
    expect(targets()).toEqual(['DROP', undefined]);
    expect(takenOver()).toEqual({ [OURS]: isOurs });
  });

  it('is removed with its rule, and what has its name later is not ours', async () => {
    withMade(made('a'));
    await agent.run([drop('a', ICN)]);
    const going = drop('a', { ...ICN, ...DELETING });
    await agent.run([going]);
    expect(deltas().map(({ remove }) => remove)).toEqual([[NAME]]);
    expect(takenOver()).toEqual({ [OURS]: { ...isOurs, stage: 'removed' } });
    withMade(made('a', 'ACCEPT'));
    await restart();
    await agent.run([going]);
    expect(openwrt.renames).toHaveLength(1);
    expect(deltas()).toHaveLength(1);
    await agent.run([]);
    expect(takenOver()).toEqual({});
  });

  it('is recorded before OpenWRT is written to, and taken over after a crash in between', async () => {
    withMade(made('a'));
    openwrt.onApply = () => {
      expect(takenOver()).toEqual({ [OURS]: { ...isOurs, stage: 'begun' } });
      throw new Error('the agent dies here');
    };
    await expect(agent.run([drop('a', ICN)])).rejects.toThrow('dies');
    openwrt.onApply = () => undefined;
    await restart();
    await agent.run([drop('a', ICN)]);
    expect(takenOver()).toEqual({ [OURS]: isOurs });
  });

  it('is ours after a crash right after it was named', async () => {
    withMade({ ...made('a'), name: NAME, anonymous: false }, namedSection('rule', 'behind'));
    const { record, write } = agent.ledger;
    await write({ ...record(), takenOver: new Map([[OURS, { ...isOurs, stage: 'begun' }]]) });
    await agent.run([drop('a', ICN)]);
    expect(takenOver()).toEqual({ [OURS]: isOurs });
    expect([...openwrt.renames, ...openwrt.transactions]).toEqual([]);
  });

  it('stays ours while its package cannot be read', async () => {
    withMade(made('a'));
    await agent.run([drop('a', ICN)]);
    const there = openwrt.packages.get('firewall');
    openwrt.packages.delete('firewall');
    await agent.run([drop('a', ICN), policy('p')]);
    expect(takenOver()).toEqual({ [OURS]: isOurs });
    if (there) openwrt.packages.set('firewall', there);
    await agent.run([drop('a', ICN), policy('p')]);
    expect(rulesThere()).toEqual(['a']);
  });

  it('is ours like any other once it had to move', async () => {
    withMade(made('b', 'DROP', 8), made('a'));
    const annotations = { 'sdewan.akraino.org/order': '5' };
    const b = drop('b', { ...ICN, annotations });
    await agent.run([b, drop('a', ICN)]);
    expect(targets()).toEqual(['DROP', 'DROP']);
    expect(takenOver()).toEqual({});
    expect(rulesThere()).toEqual(['a', 'b']);
  });

  it('is left alone where the login may not name it, and stays in force for what refers to it', async () => {
    openwrt.mayRename = false;
    const zone = namedSection('zone', 'cfg0adc81', { name: 'lan1', network: ['net1'] });
    withMade({ ...zone, anonymous: true }, made('a'));
    const sections = before();
    const rules = [
      ruleOf('FirewallZone', 'lan1', { network: ['ovn-net1'] }, ICN),
      drop('a', { ...ICN, ...DELETING }),
      ruleOf('FirewallRule', 'b', { src: 'lan1', target: 'DROP' }),
    ];
    await agent.run(rules);
    expect(statesOf(agent)).toEqual({
      lan1: 'pending AdoptionNeedsRights',
      a: 'pending AdoptionNeedsRights',
      b: 'wanted Applying',
    });
    expect(openwrt.sections('firewall').slice(0, -1)).toEqual(sections);
    expect(takenOver()).toEqual({});
    openwrt.mayRename = true;
    await agent.run(rules);
    expect(statesOf(agent)).toMatchObject({ lan1: 'wanted Applying', a: 'unwanted Removing' });
    expect(rulesThere()).toEqual(['b']);
  });

  it('is left alone for ten minutes when it is made again after it was taken over', async () => {
    withMade(made('a'));
    await agent.run([drop('a', ICN), drop('b')]);
    // Its PUT removes the section and makes another.
    const [ours, others] = [before().slice(-1), before().filter(({ name }) => name !== NAME)];
    put('firewall', ...others.slice(0, -1), made('a', 'ACCEPT'), ...ours);
    const [sections, writes] = [before(), openwrt.transactions.length];
    for (const minutes of [0, 9]) {
      openwrt.clock.advance(minutes * 60_000);
      await agent.run([drop('a', ICN), drop('b')]);
      expect(statesOf(agent)).toEqual({ a: 'pending ForeignController', b: 'wanted Applying' });
      expect(openwrt.sections('firewall')).toEqual(sections);
    }
    expect([openwrt.renames.length, openwrt.transactions.length]).toEqual([1, writes]);
    openwrt.clock.advance(60_000);
    await agent.run([drop('a', ICN), drop('b')]);
    expect(statesOf(agent)).toEqual({ a: 'wanted Applying', b: 'wanted Applying' });
    expect(openwrt.renames).toHaveLength(2);
  });
});

it('goes on in the next pass with a search for refused rules that takes too long', async () => {
  const isBad = (name: string): boolean => Number(name.slice(1)) % 2 === 0;
  openwrt.refuses = refuseThose(isBad);
  const ends: string[] = [];
  while (rulesThere().length < 15 && ends.length < 6)
    ends.push(await agent.run(many(30)).then(() => 'all found', String));
  const [first = '', ...later] = ends;
  expect(first).toContain('the search continues with the next pass');
  expect(later.at(-1)).toBe('all found');
  expect(openwrt.transactions.length).toBeLessThanOrEqual(40 * ends.length);
  expect(rulesThere().filter(isBad)).toEqual([]);
});

it('sections of others that cannot be compared with the kernel are known by package, but for those that may be soon', async () => {
  const theirs = new Map([['theirs', 'netifd does not understand it']]);
  const both = new Map([...theirs, ['sdewan_rule_a', 'nor this']]);
  const kernel = {
    lacking: new Map(),
    incomparable: new Map([
      ['firewall', both],
      ['mwan3', theirs],
    ]),
  };
  Object.assign(openwrt.reading, { kernel: { ...kernel, passing: new Set(['mwan3']) } });
  await agent.run([drop('a')]);
  await agent.run([drop('a')]);
  expect(agent.standings.at(-1)?.unreadOthers).toEqual(new Map([['firewall', theirs]]));
});

describe('a restart of the firewall that a user asks for', () => {
  const order = { id: 'a', service: 'firewall' } as const;
  let served: [string, boolean][];
  beforeEach(async () => {
    served = [];
    let due: typeof order | undefined = order;
    agent = await openAgent(openwrt, folder.path, {
      restart: {
        due: () => due,
        served: ({ id }, done) => {
          due = undefined;
          served.push([id, done]);
        },
      },
    });
  });
  const reloads = (): string[] => openwrt.transactions.flat().map((delta) => delta.package);

  it('is one reload of its own, once', async () => {
    put('firewall');
    await agent.run([]);
    await agent.run([]);
    expect([reloads(), served]).toEqual([['firewall'], [['a', true]]]);
  });

  it('comes again where the pass did not get through, as that of the next agent', async () => {
    put('firewall');
    openwrt.onApply = () => {
      throw new Error('no answer');
    };
    await expect(agent.run([])).rejects.toThrow('no answer');
    expect(served).toEqual([]);
    openwrt.onApply = () => undefined;
    await restart();
    await agent.run([]);
    expect(reloads()).toContain('firewall');
  });

  it('says so where OpenWRT has none', async () => {
    openwrt.packages.delete('firewall');
    await agent.run([]);
    expect([reloads(), served]).toEqual([[], [['a', false]]]);
  });
});

it('finds every five minutes what is kept wrongly, and keeps nothing from then on', async () => {
  const kept = createCandidates();
  let first: ReturnType<Candidates> | undefined;
  const stale: Candidates = (...all) => (first ??= kept(...all));
  agent = await openAgent(openwrt, folder.path, { kept: stale });
  const names = (): string[] => openwrt.sections('firewall').map(({ name }) => name);
  await agent.run([drop('a')]);
  await agent.run([drop('b')]);
  expect(names()).toContain('sdewan_rule_a');
  openwrt.clock.advance(300_000);
  await agent.run([drop('b')]);
  expect(names()).not.toContain('sdewan_rule_a');
  await agent.run([drop('c')]);
  expect(names()).toContain('sdewan_rule_c');
  expect(agent.outcomes.filter((outcome) => outcome === 'kept wrong')).toHaveLength(1);
});
