/**
 * The whole product with a real OpenWRT userland in each CNF pod: a rule of each kind is in sync
 * and in the kernels of both, a change and a removal too, and what is changed in the files is
 * repaired.
 */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { problemsInKernel } from '../../contract/conformance/in-kernel.ts';
import { e2eCluster } from '../cluster.ts';
import { differenceOf, kernelLines, LOOK } from '../../openwrt/checks/kernel.ts';
import { allSamples } from '../../samples/all.ts';
import { createCnf } from '../../stack/cnf.ts';
import { until } from '../../stack/observe.ts';
import { apply, remove, waitGone, waitInSync } from '../../stack/operator.ts';
import { inAnyOrder, rule, type Rule } from '../../stack/rules.ts';

const PURPOSE = 'cnf-1';
const TOOL = path.resolve(import.meta.dirname, '../../openwrt/device/in.sh');
const KERNEL = { timeout: 300_000, interval: 1_000 };
/**
 * They follow addresses of the pod, which it has outside of the device here; the conformance suite
 * looks at their kernel.
 */
const OF_PODS = new Set(['SdewanApplication', 'CNFHubSite']);
/**
 * Late among what mwan3 does of itself after the start of a device. Its scripts go on for some
 * seconds, one after the other.
 */
const MWAN3_IS_SET_UP = 'rule 3002: from all fwmark 0x200/0x3f00 unreachable';
const QUIET_MS = 8_000;

const rulesOf = (which: 'created' | 'changed'): Rule[] =>
  allSamples.map(({ kind, life, kernel }) => {
    const spec =
      which === 'created' ? (kernel.spec ?? life.spec) : (kernel.changed ?? life.changed);
    return inAnyOrder(rule(kind, life.name, OF_PODS.has(kind) ? life.spec : spec, PURPOSE));
  });

const inside = (address: string, script: string): string =>
  execFileSync(TOOL, [`pod-${address.replaceAll('.', '-')}`, 'sh'], {
    input: script,
    encoding: 'utf8',
    stdio: ['pipe', 'pipe', 'ignore'],
  });

describe('every kind on two real devices', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let addresses: string[] = [];
  const atFirst = new Map<string, string[]>();

  const linesOf = (address: string): string[] => kernelLines(inside(address, LOOK));
  const problems = (which: 'created' | 'changed' | 'deleted'): string[] =>
    addresses.flatMap((address) => {
      const { added } = differenceOf(atFirst.get(address) ?? [], linesOf(address));
      // Many rules at once: what one adds is not a remainder of another.
      if (which === 'deleted') return added;
      return allSamples
        .filter(({ kind }) => !OF_PODS.has(kind))
        .flatMap(({ kind }) =>
          problemsInKernel('ubus-fast', kind, which, { added, gone: [] }).map(
            (problem) => `${address} ${kind} ${problem}`,
          ),
        );
    });
  /** As they stay without changes: what came later would be taken for a remainder of ours. */
  const settledLines = (address: string): Promise<string[]> => {
    let before = { text: '', at: Date.now() };
    return until('mwan3 set up', async () => {
      const lines = linesOf(address);
      const text = lines.join('\n');
      if (text !== before.text) before = { text, at: Date.now() };
      const isQuiet = Date.now() - before.at >= QUIET_MS;
      return isQuiet && lines.includes(MWAN3_IS_SET_UP) ? lines : undefined;
    });
  };
  const podAt = async (address: string): Promise<string> => {
    const of = ['-n', namespace, '--field-selector', `status.podIP=${address}`];
    return (await cluster.kubectl(['get', 'pods', ...of, '-o', 'name'])).stdout.trim();
  };
  const inSync = (rules: readonly Rule[]) => waitInSync(cluster, namespace, rules);

  beforeAll(async () => {
    namespace = await cluster.createNamespace('device');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2 });
    const of = ['-n', namespace, '-l', `sdewanPurpose=${PURPOSE}`];
    const what = 'jsonpath={.items[*].status.podIP}';
    const { stdout } = await cluster.kubectl(['get', 'pods', ...of, '-o', what]);
    addresses = stdout.trim().split(' ').sort();
    for (const address of addresses) atFirst.set(address, await settledLines(address));
  });

  it('created: in sync, and in the kernels of both', async () => {
    const rules = rulesOf('created');
    await apply(cluster, namespace, ...rules);
    await inSync(rules);
    await expect.poll(() => problems('created'), KERNEL).toEqual([]);
  });

  it('changed: in sync, and in the kernels of both', async () => {
    const rules = rulesOf('changed');
    await apply(cluster, namespace, ...rules);
    await inSync(rules);
    await expect.poll(() => problems('changed'), KERNEL).toEqual([]);
  });

  it('bring back what is removed from a file, into the kernel as well', async () => {
    const [address = ''] = addresses;
    const isThere = () => linesOf(address).filter((line) => line.includes('"!fw4: k-rule"')).length;
    expect(isThere()).toBeGreaterThan(0);
    inside(
      address,
      'uci delete firewall.sdewan_rule_k_rule; uci commit firewall; fw4 -q reload\ntrue\n',
    );
    await expect.poll(isThere, KERNEL).toBeGreaterThan(0);
  });

  it('leave a firewall stopped on a paused pod, and start it when the pod is not paused any more', async () => {
    const [address = ''] = addresses;
    const pod = await podAt(address);
    const isThere = () => linesOf(address).some((line) => line.includes('"!fw4: k-rule"'));
    const annotate = (value: string) =>
      cluster.kubectl(['annotate', '-n', namespace, pod, `sdewan.akraino.org/paused${value}`]);
    const conditionOf = (condition: string, timeout = '--timeout=500s') =>
      ['wait', '-n', namespace, `--for=${condition}`, 'firewallrule/k-rule', timeout] as const;

    await annotate('=true');
    await cluster.kubectl([...conditionOf('condition=Paused')]);
    inside(address, 'fw4 -q stop\ntrue\n');
    const reason = 'jsonpath={.status.conditions[?(@.type=="Ready")].reason}=Paused';
    await cluster.kubectl([...conditionOf(reason)]);
    // Longer than a repair takes when the pod is not paused.
    await sleep(10_000);
    expect(isThere()).toBe(false);

    await annotate('-');
    await expect.poll(isThere, KERNEL).toBe(true);
    await cluster.kubectl([...conditionOf('condition=Ready')]);
  });

  it('deleted: gone from Kubernetes, and from the kernels of both', async () => {
    const rules = rulesOf('changed');
    await remove(cluster, namespace, ...rules);
    await waitGone(cluster, namespace, rules);
    await expect.poll(() => problems('deleted'), KERNEL).toEqual([]);
  });
});
