/** A look on an OpenWRT in memory: what was changed there differs, and no secret is shown. */
import { expect, it } from 'vitest';
import { ruleOf } from '#shared/compile/testing.ts';
import { revisionOf } from '#shared/compile/revision.ts';
import { kinds } from '#shared/resources/registry.ts';
import { createManualClock } from '#shared/runtime/testing/manual-clock.ts';
import { inputOf } from '#shared/compile/testing.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { withoutCommitConfirm } from '../commit-confirm/commit-confirm.ts';
import { createRefusals } from '../reconcile/refusals.ts';
import { createOpenwrt, driverOf, openAgent, stateFolder } from '../reconcile/testing.ts';
import { answerOf } from './answer.ts';
import { lookAt } from './look.ts';

const rules = [
  ruleOf('FirewallZone', 'lan', { network: ['ovn-net1'] }),
  ruleOf('FirewallRule', 'web', { src: 'lan', proto: 'tcp', dest_port: '80', target: 'ACCEPT' }),
];

const scene = async () => {
  const folder = stateFolder();
  const openwrt = createOpenwrt();
  const agent = await openAgent(openwrt, folder.path);
  await agent.run(rules);
  const { networks, secrets = new Map() } = inputOf([]);
  const look = () =>
    lookAt(
      {
        kinds,
        driver: driverOf(openwrt),
        ledger: agent.ledger,
        lastGood: { current: () => new Map() },
        refusals: createRefusals(createManualClock(), revisionOf),
        commitConfirm: withoutCommitConfirm,
      },
      {
        rules,
        networks,
        secrets,
        devices: { defaultRoute: undefined, byAddress: new Map() },
        unservedKinds: [],
        paused: false,
        quiet: false,
      },
      new AbortController().signal,
    );
  const answer = async (planted: readonly string[] = []) =>
    answerOf({
      agent: '0.1.0',
      namespace: 'default',
      pod: 'cnf-1-a',
      purpose: 'cnf-1',
      at: '2026-01-01T00:00:00.000Z',
      paused: false,
      watches: [],
      waitsFor: [],
      lastPass: undefined,
      look: await look(),
      snapshot: {
        openwrt: { reachable: true, driver: 'ubus', message: '', driftRepairs: 0 },
        rules: [],
      },
      secrets: planted,
    });
  /** As an editor changes the file. */
  const edit = (change: (sections: readonly UciSection[]) => UciSection[]): void => {
    const sections = change(openwrt.sections('firewall'));
    openwrt.packages.set('firewall', { name: 'firewall', sections });
  };
  return { folder, openwrt, answer, edit };
};

const differing = ({
  packages,
}: Awaited<ReturnType<Awaited<ReturnType<typeof scene>>['answer']>>) =>
  packages.filter(({ held, wanted }) => JSON.stringify(held) !== JSON.stringify(wanted));

it('finds OpenWRT as it should be after a pass, and writes nothing', async () => {
  const { folder, openwrt, answer } = await scene();
  using _folder = folder;
  const before = openwrt.transactions.length;
  expect(differing(await answer())).toEqual([]);
  expect(openwrt.transactions).toHaveLength(before);
});

it('shows a changed option, and sections of others as they are', async () => {
  const { folder, answer, edit } = await scene();
  using _folder = folder;
  edit((sections) => [
    ...sections.map((section) =>
      section.name === 'sdewan_rule_web'
        ? { ...section, options: { ...section.options, target: 'DROP' } }
        : section,
    ),
    { name: 'theirs', type: 'rule', anonymous: false, options: { target: 'DROP' } },
  ]);
  const [firewall, ...others] = differing(await answer());
  expect(others).toEqual([]);
  const changed = firewall?.held.filter(
    (section) => !firewall.wanted.some((one) => JSON.stringify(one) === JSON.stringify(section)),
  );
  expect(changed?.map(({ name, options }) => [name, options['target']])).toEqual([
    ['sdewan_rule_web', 'DROP'],
  ]);
  expect(firewall?.wanted.find(({ name }) => name === 'sdewan_rule_web')?.options).toMatchObject({
    target: 'ACCEPT',
  });
});

it('shows no secret, whether its name tells it or a Secret holds it', async () => {
  const { folder, answer, edit } = await scene();
  using _folder = folder;
  edit((sections) => [
    ...sections,
    {
      name: 'theirs',
      type: 'rule',
      anonymous: false,
      options: { password: 'planted-password', name: 'of planted-password', note: 'a planted-psk' },
    },
  ]);
  const text = JSON.stringify(await answer(['planted-psk']));
  expect(text).toContain('theirs');
  expect(text).not.toContain('planted');
});
