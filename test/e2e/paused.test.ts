/**
 * A pod that an operator pauses: its OpenWRT stays as it is whatever happens to the rules, their
 * statuses say so, and afterwards everything is applied.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../stack/cnf.ts';
import { observePods, readConfigFile, until } from '../stack/observe.ts';
import { apply, remove, waitForRules, waitGone, waitInSync } from '../stack/operator.ts';
import { rejectRule, zone } from '../stack/rules.ts';
import { e2eCluster } from './cluster.ts';

const PURPOSE = 'cnf-1';
const ANNOTATION = 'sdewan.akraino.org/paused';
/** A kubelet may take more than a minute to pass an annotation on. */
const TIMEOUT = '--timeout=500s';
const lan = zone('lan1', 'ovn-net1');
const old = rejectRule(1, 'lan1');
const young = rejectRule(2, 'lan1');

describe('a paused pod of two', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let paused = '';
  let other = '';
  let before: string | undefined;

  const firewallOf = (pod: string): Promise<string | undefined> =>
    readConfigFile(cluster, { namespace, pod }, 'firewall');
  const annotate = (value: string) =>
    cluster.kubectl(['annotate', '-n', namespace, `pod/${paused}`, `${ANNOTATION}${value}`]);

  beforeAll(async () => {
    namespace = await cluster.createNamespace('paused');
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2 });
    await apply(cluster, namespace, lan, old);
    await waitInSync(cluster, namespace, [lan, old]);
    const pods = await observePods(cluster, namespace, PURPOSE);
    [paused = '', other = ''] = pods.map(({ name }) => name);
    before = await firewallOf(paused);
  });

  it('is named by every rule that it has, and they stay in sync', async () => {
    await annotate('=true');
    const condition = ['wait', '-n', namespace, '--for=condition=Paused', 'sdewan', '--all'];
    await cluster.kubectl([...condition, TIMEOUT]);
    await waitInSync(cluster, namespace, [lan, old]);
    const message = 'jsonpath={.items[*].status.conditions[?(@.type=="Paused")].message}';
    const { stdout } = await cluster.kubectl(['get', 'sdewan', '-n', namespace, '-o', message]);
    expect(stdout.match(new RegExp(`1 of 2 pods: ${paused}\\)`, 'g'))).toHaveLength(2);
  });

  it('is left as it is when rules come and go, while the other pod gets them', async () => {
    await apply(cluster, namespace, young);
    await remove(cluster, namespace, old);
    const messages = async (what: string, ...names: string[]): Promise<void> => {
      const reason = `the pod has annotation ${ANNOTATION}`;
      await waitForRules(cluster, namespace, { what }, (rules) =>
        names.every((name) =>
          rules.some(
            ({ metadata, status }) =>
              metadata.name === name &&
              status?.message?.includes(reason) === true &&
              status.message.endsWith(`1 of 2 pods: ${paused})`),
          ),
        ),
      );
    };
    await messages('both say what they wait for', young.metadata.name, old.metadata.name);
    const file = await firewallOf(other);
    expect(file).toContain(young.metadata.name.replaceAll('-', '_'));
    expect(file).not.toContain(old.metadata.name.replaceAll('-', '_'));
    expect(await firewallOf(paused)).toBe(before);
  });

  it('has all that it missed as soon as the annotation is gone', async () => {
    await annotate('-');
    await until('the file is another', async () =>
      (await firewallOf(paused)) === before ? undefined : true,
    );
    await waitGone(cluster, namespace, [old]);
    const rules = await waitInSync(cluster, namespace, [lan, young]);
    expect(JSON.stringify(rules)).not.toContain(ANNOTATION);
  });
});
