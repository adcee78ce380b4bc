/**
 * A CR of every kind that the cluster has, made, changed and deleted at once on a CNF with two
 * replicas; its own files tell.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { readUci, type DeviceSection } from '../openwrt/checks/uci.ts';
import { createCnf } from '../stack/cnf.ts';
import { observePods, readCnfFile, readConfigFile, until } from '../stack/observe.ts';
import { apply, remove, waitGone, waitInSync } from '../stack/operator.ts';
import { e2eCluster } from './cluster.ts';
import { applySamples, expectSamplesIn } from './icn-samples.ts';
import { allSamples } from '../samples/all.ts';
import { certificateFileOf, certificateOf } from '../samples/ipsec.ts';
import type { Life } from '../samples/samples.ts';
import type { Spec } from '../samples/uci-table.ts';
import { inAnyOrder, rule, type Rule } from '../stack/rules.ts';

const PURPOSE = 'cnf-1';
const PACKAGES = ['firewall', 'mwan3', 'network', 'ipsec', 'keepalived'];
type Sample = Life & { kind: string };
const samples: readonly Sample[] = allSamples.map(({ kind, life }) => ({ kind, ...life }));

const crOf = ({ kind, name }: Sample, spec: Spec): Rule =>
  inAnyOrder(rule(kind, name, spec, PURPOSE));

describe('every kind on two replicas', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let pods: string[] = [];
  let addresses: string[] = [];
  let atFirst: DeviceSection[][];

  const filesOf = async (pod: string): Promise<DeviceSection[][]> =>
    Promise.all(
      PACKAGES.map(async (file) =>
        readUci((await readConfigFile(cluster, { namespace, pod }, file)) ?? ''),
      ),
    );
  const valuesIn = async (pod: string): Promise<Record<string, unknown>> => {
    const files = await filesOf(pod);
    const values = samples.map(({ kind, shows: [place] }) => {
      const [section = '', option = ''] = place.split(' ');
      const [file = '', pattern = ''] = section.split('.');
      const name = pattern.replace('ADDRESS', (addresses[0] ?? '').replaceAll(/[.:]/g, '_'));
      const found = files[PACKAGES.indexOf(file)]?.find((one) => one.name === name);
      return [kind, found?.options[option]] as const;
    });
    return Object.fromEntries(values);
  };
  /** All pods show it, or the last of what they show. */
  const shown = async (which: 1 | 2): Promise<void> => {
    const expected = Object.fromEntries(samples.map(({ kind, shows }) => [kind, shows[which]]));
    for (const pod of pods)
      await expect.poll(() => valuesIn(pod), { interval: 500 }).toEqual(expected);
  };

  /** Which of the two certificates is there. */
  const certificatesIn = (pod: string): Promise<string[]> =>
    Promise.all(
      ['before', 'after'].map(
        async (of) => (await readCnfFile(cluster, { namespace, pod }, certificateFileOf(of))) ?? '',
      ),
    );
  const certificates = async (...expected: string[]): Promise<void> => {
    for (const pod of pods)
      await expect.poll(() => certificatesIn(pod), { interval: 500 }).toEqual(expected);
  };

  beforeAll(async () => {
    namespace = await cluster.createNamespace('kinds');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2 });
    pods = (await observePods(cluster, namespace, PURPOSE)).map(({ name }) => name);
    const { stdout } = await cluster.kubectl([
      'get',
      'pods',
      '-n',
      namespace,
      '-l',
      `sdewanPurpose=${PURPOSE}`,
      '-o',
      'jsonpath={.items[*].status.podIP}',
    ]);
    addresses = stdout.trim().split(' ').sort();
    atFirst = await filesOf(pods[0] ?? '');
  });

  it('applied: in sync, and in the files of both', async () => {
    const rules = samples.map((sample) => crOf(sample, sample.spec));
    await apply(cluster, namespace, ...rules);
    await waitInSync(cluster, namespace, rules);
    await shown(1);
    await certificates(certificateOf('before'), '');
  });

  it('changed: in sync, and in the files of both', async () => {
    const rules = samples.map((sample) => crOf(sample, sample.changed));
    await apply(cluster, namespace, ...rules);
    await shown(2);
    await waitInSync(cluster, namespace, rules);
    await certificates('', certificateOf('after'));
  });

  it('deleted: gone from Kubernetes, and both are as they were', async () => {
    const rules = samples.map((sample) => crOf(sample, sample.spec));
    await remove(cluster, namespace, ...rules);
    await waitGone(cluster, namespace, rules);
    // What the generators made goes by the garbage collector.
    await until('no rule left', async () => {
      const { stdout } = await cluster.kubectl(['get', 'sdewan', '-n', namespace, '-o', 'name']);
      const left = stdout
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('cnfstatus'));
      return left.length === 0 ? true : undefined;
    });
    for (const pod of pods)
      await expect.poll(() => filesOf(pod), { interval: 500 }).toEqual(atFirst);
    await certificates('', '');
  });

  it("ICN's samples of all kinds are accepted and in the files of both, a name too long is refused", async () => {
    const samples = await applySamples(cluster, { namespace, purpose: PURPOSE });
    for (const pod of pods) expectSamplesIn((await filesOf(pod)).flat(), samples);
    const long = rule('FirewallZone', 'twelve-chars', { network: ['ovn-net1'] }, PURPOSE);
    await expect(apply(cluster, namespace, long)).rejects.toThrow(
      'firewall3 of OpenWRT allows no longer zone names',
    );
  });
});
