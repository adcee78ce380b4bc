/**
 * mwan3 of a real OpenWRT under the whole product: values that would empty its chains are refused,
 * or named and left out, an uplink that goes down takes no rule out of sync, and what an
 * administrator has in mwan3 stays in the kernel.
 */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { e2eCluster } from '../cluster.ts';
import { WITHOUT_SETS } from '../../contract/conformance/mwan3-places.ts';
import { createCnf } from '../../stack/cnf.ts';
import { observeRules } from '../../stack/observe.ts';
import { apply, waitForRules, waitInSync } from '../../stack/operator.ts';
import { rule } from '../../stack/rules.ts';

const configuration = z.looseObject({ metadata: z.looseObject({}) });

const PURPOSE = 'cnf-1';
const TOOL = path.resolve(import.meta.dirname, '../../openwrt/device/in.sh');
/** mwan3's chains are compared once a minute. */
const A_LOOK_MS = 65_000;
const BETWEEN_LOOKS_MS = 1_000;

const policy = (name: string, ...metrics: readonly number[]) =>
  rule('Mwan3Policy', name, {
    members: metrics.map((metric, at) => ({ network: `ovn-net${at + 1}`, metric, weight: 1 })),
  });
const uplink = (name: string, spec: object) => rule('Mwan3Rule', name, { policy: 'both', ...spec });
const both = policy('both', 1, 1);
const other = uplink('other-rule', { proto: 'tcp', dest_port: '8443' });
const many = uplink('many-ports', {
  proto: 'tcp',
  dest_port: '22 25 53 80 81 82 83 84 85 110 143 443 465 587 993 995',
});
const sticky = uplink('kept', { proto: 'udp', sticky: 1 });

describe('mwan3 on a real device', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let address = '';
  const inside = (script: string): string =>
    execFileSync(TOOL, [`pod-${address.replaceAll('.', '-')}`, 'sh'], {
      input: script,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  /** The administrator's, and the one that is right. */
  const inKernel = () => {
    const chain = inside('iptables -w -t mangle -S\ntrue\n');
    return ['-A mwan3_rules -d 9.9.9.9/32', '--dports 8443'].map((words) => chain.includes(words));
  };
  const statusOf = async (name: string) =>
    (await observeRules(cluster, namespace)).find(({ metadata }) => metadata.name === name)?.status;
  const isRefused = (name: string, words: RegExp) =>
    waitForRules(cluster, namespace, { what: `${name} is refused` }, (seen) => {
      const { status } = seen.find(({ metadata }) => metadata.name === name) ?? {};
      return status?.inSync === false && words.test(status.message ?? '');
    });
  /** As they were stored by an older version, which did not know the bound. */
  const applyUnjudged = async (...rules: readonly object[]): Promise<void> => {
    const target = ['validatingwebhookconfiguration', 'sdewan-coordinator'];
    const { stdout } = await cluster.kubectl(['get', ...target, '-o', 'json']);
    const { metadata, ...rest } = configuration.parse(JSON.parse(stdout));
    const kept = { ...rest, metadata: { ...metadata, resourceVersion: undefined } };
    await cluster.kubectl(['delete', ...target]);
    try {
      await apply(cluster, namespace, ...rules);
    } finally {
      await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(kept) });
    }
  };

  beforeAll(async () => {
    namespace = await cluster.createNamespace('device');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1 });
    const of = ['-n', namespace, '-l', `sdewanPurpose=${PURPOSE}`];
    const what = 'jsonpath={.items[*].status.podIP}';
    address = (await cluster.kubectl(['get', 'pods', ...of, '-o', what])).stdout.trim();
    await apply(cluster, namespace, both, other);
    await waitInSync(cluster, namespace, [both, other]);
  });

  it('has the rules of both, ours and the administrator’s', () => {
    expect(inKernel()).toEqual([true, true]);
  });

  it('gets no rule of 16 ports, and no metric over 256; such a rule that is stored is in sync nowhere', async () => {
    await expect(apply(cluster, namespace, many)).rejects.toThrow('at most 15');
    await expect(apply(cluster, namespace, policy('backup', 300, 400))).rejects.toThrow('256');
    await applyUnjudged(many);
    await isRefused('many-ports', /at most 15/);
    await waitInSync(cluster, namespace, [both, other]);
    expect(inKernel()).toEqual([true, true]);
  });

  it('takes no rule out of sync when an uplink goes down, or comes up', async () => {
    const member = () => inside('iptables -w -t mangle -S mwan3_policy_both\n').includes('"net1 ');
    const { appliedTime } = (await statusOf('other-rule')) ?? {};
    for (const [verb, isUp] of [
      ['ifdown', false],
      ['ifup', true],
    ] as const) {
      inside(`${verb} net1\n`);
      await expect.poll(member).toBe(isUp);
      const end = performance.now() + A_LOOK_MS;
      for (; performance.now() < end; await sleep(BETWEEN_LOOKS_MS))
        for (const name of ['both', 'other-rule'])
          expect(await statusOf(name)).toMatchObject({ inSync: true });
    }
    expect(await statusOf('other-rule')).toMatchObject({ appliedTime });
  });

  it('keeps all other rules where its kernel does not take one, which says so', async () => {
    const hasSets = inside('ipset create s hash:ip,mark && ipset destroy s && echo yes\ntrue\n');
    if (hasSets.includes('yes')) inside(WITHOUT_SETS);
    await apply(cluster, namespace, sticky);
    await isRefused('kept', /Set mwan3_rule_ipv4_kept doesn't exist/);
    await waitInSync(cluster, namespace, [both, other]);
    await expect.poll(inKernel).toEqual([true, true]);
  });
});
