/**
 * Things that people do wrong, or that break under them: how each is done to the running product,
 * and what kubectl must say of it. `shows` prints what a person looks at first; what it printed is
 * kept in test/golden/broken.
 */
import type { Cluster } from 'kind-test-harness';
import { cnfObjects, createCnf } from '../../stack/cnf.ts';
import { agentsDown, cnfHangs } from '../../stack/faults.ts';
import { observePods } from '../../stack/observe.ts';
import { apply, remove, waitInSync } from '../../stack/operator.ts';
import { rule, zone, type Rule } from '../../stack/rules.ts';
import { mayReadSecrets } from '../../stack/secret-rights.ts';

/** A namespace with CNF `cnf-1` of one pod, and zone `lan1` in sync. */
export type Scene = { cluster: Cluster; namespace: string };

export type Broken = {
  /** What is broken, as the golden file is called. */
  name: string;
  /** Breaks it. Gives what kubectl printed, where that is the answer. */
  does: (scene: Scene) => Promise<string | undefined>;
  /**
   * The rule whose status and Events are the answer, `kind/name`; absent: kubectl's answer alone.
   */
  status?: string;
  /** The name of a CNF that this alone breaks. */
  purpose?: string;
  /** All is well again when it is told. */
  isRepaired?: true;
  /** Field or object at fault, as the words must name it. */
  names: string;
  /**
   * The beginning of the cause, which must not stand behind column 80 of what our own message
   * prints.
   */
  cause: string;
  /**
   * What to do, in the words that are printed or in those that docs/status.md has for the printed
   * reason.
   */
  cure: RegExp;
  /**
   * An Event on the rule, or on the object whose name begins so: its reason, and words of it where
   * there may be others of that reason.
   */
  event?: { on: string; reason: string; says?: string };
};

type Words = Pick<Broken, 'names' | 'cause' | 'cure'>;

const applied = async ({ cluster, namespace }: Scene, ...objects: object[]): Promise<string> => {
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  const options = { stdin: JSON.stringify(list), allowFailure: true };
  const { stdout, stderr } = await cluster.kubectl(['apply', '-n', namespace, '-f', '-'], options);
  return stdout + stderr;
};

/** kubectl itself refuses or answers. */
const answered = (name: string, objects: (scene: Scene) => object[], words: Words): Broken => ({
  name,
  does: (scene) => applied(scene, ...objects(scene)),
  ...words,
});

const fw = (name: string, spec: Record<string, unknown>, labels?: Record<string, string>): Rule => {
  const made = rule('FirewallRule', name, { src: 'lan1', target: 'REJECT', ...spec });
  return labels ? { ...made, metadata: { ...made.metadata, labels } } : made;
};

/** A rule that is accepted, and whose status tells. */
const stated = (
  made: Rule,
  what: { name: string; reason: string; before?: (namespace: string) => object[] } & Words,
): Broken => ({
  name: what.name,
  does: async ({ cluster, namespace }) => {
    await apply(cluster, namespace, ...(what.before?.(namespace) ?? []), made);
    return undefined;
  },
  status: `${made.kind}/${made.metadata.name}`,
  names: what.names,
  cause: what.cause,
  cure: what.cure,
  event: { on: made.metadata.name, reason: what.reason },
});

const proposal = rule('IpsecProposal', 'proposal1', {
  encryption_algorithm: 'aes128',
  hash_algorithm: 'sha256',
  dh_group: 'modp3072',
});
const site = (name: string, key: string, secret: string, proposals = ['proposal1']): Rule =>
  rule('IpsecSite', name, {
    remote: '203.0.113.9',
    authentication_method: 'psk',
    crypto_proposal: proposals,
    pre_shared_key_from: { name: secret, key },
    connections: [
      {
        name: 'conn',
        conn_type: 'tunnel',
        mode: 'add',
        local_subnet: '10.1.0.0/16',
        remote_subnet: '10.2.0.0/16',
        crypto_proposal: proposals,
      },
    ],
  });

const labelled = (kind: string, name: string, purpose: string): object => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, labels: { sdewanPurpose: purpose } },
  spec: { containers: [{ name: 'sdewan', image: 'integratedcloudnative/openwrt:dev' }] },
});

/**
 * The Deployment that there is, under another name; `label`: its own, beside that of its template.
 */
const secondDeployment = async (scene: Scene, name: string, label: boolean): Promise<string> => {
  const [deployment] = (
    await cnfObjects({ namespace: scene.namespace, purpose: 'cnf-1', replicas: 1 })
  ).slice(-1);
  const text = JSON.stringify(deployment);
  const made: { metadata: object } = JSON.parse(text);
  return applied(scene, {
    ...made,
    metadata: { name, ...(label && { labels: { sdewanPurpose: 'cnf-1' } }) },
  });
};

const podOf = async ({ cluster, namespace }: Scene, purpose: string): Promise<string> =>
  (await observePods(cluster, namespace, purpose))[0]?.name ?? '';

/** A CNF of its own with a rule in sync, so that its trouble is its own. */
const ownCnf = async ({ cluster, namespace }: Scene, purpose: string): Promise<Rule> => {
  await createCnf(cluster, { namespace, purpose, replicas: 1 });
  const made = zone(`z${purpose.replaceAll(/\W/g, '')}`, 'ovn-net1', purpose);
  await apply(cluster, namespace, made);
  await waitInSync(cluster, namespace, [made]);
  return made;
};

export const brokenThings: readonly Broken[] = [
  answered('wrong-port', () => [fw('port', { proto: 'tcp', dest_port: 'http' })], {
    names: 'spec.dest_port',
    cause: 'spec.dest_port',
    cure: /must be|should be/,
  }),
  answered('ports-without-protocol', () => [fw('proto', { proto: 'icmp', dest_port: '80' })], {
    names: 'spec',
    cause: 'spec',
    cure: /tcp|udp/,
  }),
  answered('unknown-field', () => [fw('field', { sorce: 'lan1' })], {
    names: 'sorce',
    cause: 'unknown field',
    cure: /unknown field "sorce"/,
  }),
  answered('wrong-target', () => [fw('target', { target: 'REFUSE' })], {
    names: 'spec.target',
    cause: 'spec.target',
    cure: /ACCEPT/,
  }),
  answered('unknown-zone', () => [fw('zone', { dest: 'lan9' })], {
    names: 'FirewallZone lan9',
    cause: 'spec.dest',
    cure: /create it first/,
  }),
  answered('unknown-network', () => [zone('net', 'ovn-net9')], {
    names: 'spec.network[0]: ovn-net9',
    cause: 'spec.network[0]',
    cure: /it has: .*ovn-net1/,
  }),
  answered('wrong-label', () => [fw('label', { dest_port: '80' }, { sdewanPurpose: 'cnf1' })], {
    names: 'metadata.labels.sdewanPurpose',
    cause: 'metadata.labels.sdewanPurpose: no CNF has purpose cnf1 here',
    cure: /there is: cnf-1/,
  }),
  answered('wrong-label-without-references', () => [zone('nowhere', 'ovn-net1', 'cnf1')], {
    names: 'metadata.labels.sdewanPurpose',
    cause: 'metadata.labels.sdewanPurpose: no CNF has purpose cnf1 here',
    cure: /there is: cnf-1/,
  }),
  answered('no-label', () => [{ ...zone('bare', 'ovn-net1'), metadata: { name: 'bare' } }], {
    names: 'sdewanPurpose',
    cause: 'metadata.labels: sdewanPurpose is required',
    cure: /it names the CNF/,
  }),
  stated(zone('alone', 'ovn-net1', 'cnf-9'), {
    name: 'no-cnf',
    reason: 'WaitingForCnf',
    names: 'sdewanPurpose=cnf-9',
    cause: 'no pod in namespace',
    cure: /Deploy the CNF/,
  }),
  {
    name: 'second-cnf-as-deployment',
    does: (scene) => secondDeployment(scene, 'second', true),
    names: 'Deployment cnf-1',
    cause: 'Deployment cnf-1 already serves',
    cure: /another value of label sdewanPurpose/,
  },
  answered('second-cnf-as-pod', () => [labelled('Pod', 'second', 'cnf-1')], {
    names: 'Deployment cnf-1',
    cause: 'Deployment cnf-1 already serves',
    cure: /another value of label sdewanPurpose/,
  }),
  {
    name: 'second-cnf-by-template',
    does: (scene) => secondDeployment(scene, 'template', false),
    names: 'Deployment cnf-1',
    cause: 'Deployment cnf-1 already serves',
    cure: /another value of label sdewanPurpose/,
    event: { on: 'template-', reason: 'FailedCreate' },
  },
  answered(
    'names-that-are-one',
    () => [fw('a-b', { dest_port: '1' }), fw('a.b', { dest_port: '2' })],
    {
      names: 'metadata.name',
      cause: 'metadata.name',
      cure: /choose another name/,
    },
  ),
  answered('long-name', () => [zone('a-zone-too-long', 'ovn-net1')], {
    names: 'FirewallZone "a-zone-too-long"',
    cause: 'the name must have at most 11 characters',
    cure: /11/,
  }),
  {
    name: 'changed-label',
    does: async (scene) => {
      await apply(scene.cluster, scene.namespace, zone('moved', 'ovn-priv-net'));
      return applied(scene, zone('moved', 'ovn-priv-net', 'cnf-2'));
    },
    names: 'sdewanPurpose',
    cause: 'metadata.labels',
    cure: /delete|create/i,
  },
  {
    name: 'zone-in-use',
    does: async ({ cluster, namespace }) => {
      const used = [zone('used', 'ovn-net2'), fw('user', { src: 'used', dest_port: '22' })];
      await apply(cluster, namespace, ...used);
      await waitInSync(cluster, namespace, used);
      const { stdout, stderr } = await cluster.kubectl(
        ['delete', '-n', namespace, 'firewallzone/used', '--wait=false'],
        { allowFailure: true },
      );
      return stdout + stderr;
    },
    names: 'FirewallRule user',
    cause: 'it is used by',
    cure: /delete or change/,
  },
  answered('icmp-name', () => [fw('icmp', { proto: 'icmp', icmp_type: ['no-such-type'] })], {
    names: 'spec.icmp_type[0]',
    cause: 'spec.icmp_type[0]',
    cure: /must be the name of an ICMP type/,
  }),
  stated(fw('extra', { dest_port: '23', extra: '-m comment' }), {
    name: 'option-that-fw4-ignores',
    reason: 'UnsupportedByDriver',
    names: 'extra',
    cause: 'spec.extra',
    cure: /Remove the field/,
  }),
  answered('two-zones-on-one-network', () => [zone('twin', 'ovn-net1')], {
    names: 'FirewallZone lan1',
    cause: 'spec.network[0]',
    cure: /the zone that comes first/,
  }),
  stated(site('nosecret', 'psk', 'no-such-secret'), {
    name: 'missing-secret',
    reason: 'WaitingForSecret',
    before: (namespace) => [...mayReadSecrets(namespace, 'vpn', 'no-such-secret'), proposal],
    names: 'no-such-secret',
    cause: 'spec.pre_shared_key_from',
    cure: /Create the Secret/,
  }),
  stated(rule('CNFRoute', 'route', { dst: '10.9.0.0/16', dev: '#192.0.2.77', table: 'default' }), {
    name: 'missing-device',
    reason: 'WaitingForDevice',
    names: 'spec.dev',
    cause: 'spec.dev',
    cure: /Create the device/,
  }),
  stated(
    rule('CNFService', 'dead', { fullname: 'no-such-name.invalid', port: '81', dport: '80' }),
    {
      name: 'dead-dns-name',
      reason: 'NotResolved',
      names: 'no-such-name.invalid',
      cause: 'spec.fullname',
      cure: /Correct the name/,
    },
  ),
  {
    name: 'openwrt-frozen',
    does: async (scene) => {
      await ownCnf(scene, 'cnf-ow');
      await cnfHangs(scene.cluster, scene.namespace, await podOf(scene, 'cnf-ow'));
      return undefined;
    },
    status: 'FirewallZone/zcnfow',
    purpose: 'cnf-ow',
    names: 'cnf-ow-',
    cause:
      'the pod is not ready; kubectl describe pod says why (in force when last read, unconfirmed',
    cure: /kubectl describe pod/,
    event: { on: 'cnf-ow-', reason: 'Unhealthy', says: 'OpenWRT does not answer since' },
  },
  {
    name: 'agent-frozen',
    does: async (scene) => {
      await ownCnf(scene, 'cnf-ag');
      await agentsDown(scene.cluster, scene.namespace, 'cnf-ag');
      return undefined;
    },
    status: 'FirewallZone/zcnfag',
    purpose: 'cnf-ag',
    names: 'cnf-ag-',
    cause: 'the agent has not reported since',
    cure: /An agent does not report/,
  },
  {
    name: 'image-that-cannot-be-pulled',
    does: async ({ cluster, namespace }) => {
      const objects = await cnfObjects({ namespace, purpose: 'cnf-im', replicas: 1 });
      const text = JSON.stringify(objects).replaceAll(
        'integratedcloudnative/openwrt:dev',
        'no-such-image:dev',
      );
      const made: object[] = JSON.parse(text);
      await apply(cluster, namespace, ...made, zone('image', 'ovn-net1', 'cnf-im'));
      return undefined;
    },
    status: 'FirewallZone/image',
    purpose: 'cnf-im',
    names: 'cnf-im-',
    cause: 'the pod is not ready',
    cure: /kubectl describe pod/,
    event: { on: 'cnf-im-', reason: 'PodNotReady' },
  },
  {
    name: 'deletion-with-the-agent-down',
    does: async (scene) => {
      const made = await ownCnf(scene, 'cnf-de');
      await agentsDown(scene.cluster, scene.namespace, 'cnf-de');
      await remove(scene.cluster, scene.namespace, made);
      return undefined;
    },
    status: 'FirewallZone/zcnfde',
    purpose: 'cnf-de',
    names: 'cnf-de-',
    cause: 'being deleted: the agent has not reported since',
    cure: /Wait some seconds|Repair the pod/,
    event: {
      on: 'zcnfde',
      reason: 'RemovalBlocked',
      says: 'the agent has not reported since',
    },
  },
  {
    name: 'drift',
    does: async (scene) => {
      const made = await ownCnf(scene, 'cnf-dr');
      const { cluster, namespace } = scene;
      const pod = await podOf(scene, 'cnf-dr');
      const command = 'sed -i s/ACCEPT/DROP/ /etc/config/firewall';
      await cluster.exec({ namespace, pod, container: 'sdewan' }, ['sh', '-c', command]);
      await waitInSync(cluster, namespace, [made]);
      return undefined;
    },
    status: 'FirewallZone/zcnfdr',
    purpose: 'cnf-dr',
    isRepaired: true,
    names: 'firewall.sdewan_zone_zcnfdr',
    cause: 'another user or program changed section',
    cure: /the rule is the one to change/,
    event: { on: 'zcnfdr', reason: 'DriftRepaired' },
  },
];
