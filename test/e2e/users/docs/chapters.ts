/**
 * How each block of the documentation comes to what it shows: in this order, each with what must be
 * there before.
 */
import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { createCnf } from '../../../stack/cnf.ts';
import { withDashboard } from '../../../stack/dashboard.ts';
import { cnfHangs } from '../../../stack/faults.ts';
import { CNF_IMAGE } from '../../../stack/images.ts';
import { installProduct } from '../../../stack/install.ts';
import { SYSTEM_NAMESPACE } from '../../../stack/installation.ts';
import { manifestPath } from '../../../stack/manifests.ts';
import { apply, waitForRules, waitInSync } from '../../../stack/operator.ts';
import { inAnyOrder, rejectRule, rule, zone, type Rule } from '../../../stack/rules.ts';
import { NAMESPACE, PURPOSE, type Stage } from './stage.ts';

/** `blocks`: from 1 on, among those of the page that have commands. */
type Blocks = { page: string; blocks: readonly number[] };

export type Chapter = Blocks & {
  /** The context of the kubeconfig; default: `edge`. */
  namespace?: string;
  before?: (stage: Stage) => Promise<void>;
  after?: (stage: Stage) => Promise<void>;
  /** In which the blocks are followed. */
  around?: (stage: Stage, follow: () => Promise<void>) => Promise<void>;
  /** What stands for a word of the page, such as `<pod>`. */
  words?: (stage: Stage) => Promise<Readonly<Record<string, string>>>;
};

/** Those that are not run, and why. Scripts and files that they name have to be there. */
export const EXCEPTIONS: readonly { why: string; blocks: readonly Blocks[] }[] = [
  {
    why: 'tests, demo and images by themselves, some for hours or on nodes and devices',
    blocks: [
      { page: 'docs/development.md', blocks: [1, 2, 3] },
      { page: 'docs/images.md', blocks: [1, 2, 3] },
      { page: 'docs/tutorial.md', blocks: [1] },
    ],
  },
  {
    why: 'names of a pod and of a set: test/e2e/fleet/objects.test.ts asks for the same',
    blocks: [{ page: 'docs/fleet.md', blocks: [6] }],
  },
  {
    why: 'a port-forward of kubectl, which the kubelet of the tests does not speak',
    blocks: [{ page: 'docs/cli.md', blocks: [3] }],
  },
];

/** Those that `.ci/run` runs, as they are written. */
export const BY_CI: readonly Blocks[] = [{ page: 'README.md', blocks: [2] }];

/** Those that another test runs. */
export const ELSEWHERE: readonly (Blocks & { test: string })[] = [
  {
    page: 'docs/tutorial.md',
    blocks: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14],
    test: 'test/e2e/processes/tutorial.test.ts',
  },
  { page: 'docs/chart.md', blocks: [1, 2, 3], test: 'test/deploy/chart/release.test.ts' },
  { page: 'docs/upgrading.md', blocks: [1, 2], test: 'test/deploy/gitops/restore.test.ts' },
];

const lan = zone('lan1', 'ovn-net1');
const reject80 = rule('FirewallRule', 'reject-80', {
  src: 'lan1',
  src_ip: '192.168.1.2',
  src_port: '80',
  proto: 'tcp',
  target: 'REJECT',
});
const first = [lan, reject80];

const noted =
  (name: string, text: (stage: Stage) => string | Promise<string>) => async (stage: Stage) =>
    stage.write(name, await text(stage));
const seedCnf = (): Promise<string> => readFile(manifestPath('seed-cnf.yaml'), 'utf8');
const listed = (rules: readonly Rule[]): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'List', items: rules });
const aPod: Chapter['words'] = async (stage) => ({ '<pod>': await stage.aPod() });
const inSync = (stage: Stage): Promise<void> => stage.onlyRules(first);

/** Waits until all pods are new. */
const annotateCnf = async ({ kubectl }: Stage, name: string, value: string): Promise<void> => {
  const template = { metadata: { annotations: { [name]: value } } };
  const patch = JSON.stringify({ spec: { template } });
  const deployment = ['-n', NAMESPACE, `deployment/${PURPOSE}`];
  await kubectl('patch', ...deployment, '-p', patch);
  await kubectl('rollout', 'status', ...deployment, '--timeout=500s');
};

/** As one that was made before the product was there. */
const podWithoutAgent = async ({ cluster, kubectl }: Stage): Promise<void> => {
  const label = 'sdewan.akraino.org/inject';
  await kubectl('label', 'namespace', NAMESPACE, `${label}=disabled`);
  await apply(cluster, NAMESPACE, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'cnf-2', labels: { sdewanPurpose: 'cnf-2' } },
    spec: { schedulerName: 'none', containers: [{ name: 'openwrt', image: 'none' }] },
  });
  await kubectl('label', 'namespace', NAMESPACE, `${label}-`);
};

const deploymentSchema = z.object({
  spec: z.object({
    replicas: z.number(),
    selector: z.looseObject({}),
    template: z.looseObject({}),
  }),
});
/**
 * The Deployment, as new: pages before have put the agent into its template. It is to be taken
 * over.
 */
const asCnfDeployment = async ({ cluster, kubectl }: Stage): Promise<void> => {
  await kubectl('delete', 'deployment', PURPOSE, '-n', NAMESPACE, '--cascade=foreground');
  await createCnf(cluster, { namespace: NAMESPACE, purpose: PURPOSE, replicas: 2 });
  const found = await kubectl('get', 'deployment', PURPOSE, '-n', NAMESPACE, '-o', 'json');
  const { spec } = deploymentSchema.parse(JSON.parse(found));
  await apply(cluster, NAMESPACE, {
    apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
    kind: 'CNFDeployment',
    metadata: { name: PURPOSE },
    spec,
  });
  const named = ['--for=jsonpath={.status.conditions[?(@.type=="Degraded")].reason}=NameTaken'];
  await kubectl('wait', ...named, `cnfdeploy/${PURPOSE}`, '-n', NAMESPACE, '--timeout=500s');
};

const NETWORKS = 'k8s.plugin.opnfv.org/nfn-network';
const wan = zone('wan1', 'ovn-net2');

/** The CNFDeployment's template loses the network of a zone, so that its new set waits for that. */
const rollOutThatWaits = async ({ kubectl, onlyRules }: Stage): Promise<void> => {
  await onlyRules([...first, wan]);
  const interfaces = [{ defaultGateway: 'false', interface: 'net1', name: 'ovn-net1' }];
  const networks = JSON.stringify({ type: 'ovn4nfv', interface: interfaces });
  const template = { metadata: { annotations: { [NETWORKS]: networks } } };
  const patch = JSON.stringify({ spec: { template } });
  const named = ['-n', NAMESPACE, `cnfdeploy/${PURPOSE}`];
  await kubectl('patch', ...named, '--type=merge', '-p', patch);
  const waits = '--for=jsonpath={.status.stage}=Connected';
  await kubectl('wait', ...named, waits, '--timeout=500s');
};

const ICN = 'icn';
const webhookOfIcn = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: ICN },
  webhooks: [
    {
      name: 'label.icn.example',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      clientConfig: { service: { namespace: ICN, name: ICN, path: '/validate-label' } },
      // No program answers for it here.
      failurePolicy: 'Ignore',
      rules: [
        {
          apiGroups: ['apps'],
          apiVersions: ['v1'],
          operations: ['UPDATE'],
          resources: ['deployments'],
        },
      ],
    },
  ],
};

/** Something in the place of ICN's controller and webhooks. */
const withIcn = async ({ cluster, kubectl }: Stage): Promise<void> => {
  await kubectl('create', 'namespace', ICN);
  const labels = { app: ICN };
  const container = { name: 'manager', image: CNF_IMAGE };
  await apply(cluster, ICN, webhookOfIcn, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: ICN },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  });
};
const ofIcn: Readonly<Record<string, string>> = {
  "<ICN's>": ICN,
  '<its namespace>': ICN,
  "<ICN's controller>": ICN,
};

let restore: (() => Promise<void>) | undefined;

export const CHAPTERS: readonly Chapter[] = [
  { page: 'README.md', blocks: [3], before: inSync },
  { page: 'docs/drivers.md', blocks: [1] },
  {
    page: 'README.md',
    blocks: [1],
    namespace: 'readme',
    before: async ({ kubectl }) => void (await kubectl('create', 'namespace', 'readme')),
  },
  {
    page: 'docs/kinds.md',
    blocks: [1, 2],
    namespace: 'readme',
    words: () => Promise.resolve({ 'edge:cnf-1': 'readme:cnf-1' }),
    after: async ({ kubectl }) =>
      void (await kubectl('delete', 'namespace', 'readme', '--wait=false')),
  },
  {
    page: 'docs/status.md',
    blocks: [1],
    before: async (stage) => {
      restore = await cnfHangs(stage.cluster, NAMESPACE, await stage.aPod());
      await waitForRules(stage.cluster, NAMESPACE, { what: 'a pod that is not ready' }, (rules) =>
        // The pod may be told as not ready before its agent has told that OpenWRT does not answer.
        rules.every(({ status }) => status?.message?.includes('unconfirmed')),
      );
    },
    after: async ({ cluster }) => {
      await restore?.();
      await waitInSync(cluster, NAMESPACE, first);
    },
  },
  { page: 'docs/status.md', blocks: [4, 5], words: aPod },
  { page: 'docs/status.md', blocks: [3] },
  {
    page: 'docs/status.md',
    blocks: [2],
    words: aPod,
    after: ({ cluster }) => waitInSync(cluster, NAMESPACE, first).then(() => undefined),
  },
  { page: 'docs/drivers.md', blocks: [2], words: aPod },
  {
    page: 'docs/troubleshooting.md',
    blocks: [1, 2, 3, 4, 5, 6, 7, 9],
    before: async (stage) => {
      await stage.onlyRules(first);
      await stage.write('cnf.yaml', await seedCnf());
      await stage.write('rules.yaml', listed(first));
    },
    words: aPod,
  },
  {
    page: 'docs/admission.md',
    blocks: [1, 2, 3],
    before: async (stage) => {
      await stage.write('cnf.yaml', await seedCnf());
      await stage.run(
        "mkdir -p edge && cp cnf.yaml edge && echo 'resources: [cnf.yaml]' >edge/kustomization.yaml",
      );
    },
  },
  { page: 'docs/cli.md', blocks: [1, 2] },
  {
    page: 'docs/cli.md',
    blocks: [4, 5, 6],
    before: (stage) =>
      stage.onlyRules([lan, wan, rejectRule(1, 'lan1')], [inAnyOrder(rejectRule(2, 'lan2'))]),
  },
  { page: 'docs/cli.md', blocks: [8, 9] },
  {
    page: 'docs/cli.md',
    blocks: [10],
    before: async (stage) => {
      const { spec, ...one } = rejectRule(1, 'lan1');
      await stage.write(
        'rules.yaml',
        listed([lan, { ...one, spec: { ...spec, dest_port: '443' } }]),
      );
    },
  },
  {
    page: 'docs/cli.md',
    blocks: [11],
    words: async (stage) => ({ 'cnf-1-7fbdd9fcd6-729vd': await stage.aPod() }),
  },
  {
    page: 'docs/cli.md',
    blocks: [12],
    before: noted('rules.yaml', () => listed([rejectRule(7, 'lan7'), zone('lan7', 'ovn-net2')])),
  },
  {
    page: 'docs/cli.md',
    blocks: [13, 16, 17],
    before: podWithoutAgent,
    after: async ({ kubectl }) => void (await kubectl('delete', 'pod', 'cnf-2', '-n', NAMESPACE)),
  },
  {
    page: 'docs/cli.md',
    blocks: [14],
    before: (stage) =>
      stage.onlyRules([
        rule('FirewallZone', 'branch', {
          network: ['ovn-net1'],
          input: 'ACCEPT',
          forward: 'REJECT',
        }),
        rule('FirewallZone', 'uplink', {
          network: ['ovn-net2'],
          input: 'DROP',
          forward: 'DROP',
          masq: '1',
        }),
        rule('FirewallForwarding', 'out', { src: 'branch', dest: 'uplink' }),
        rule('FirewallRule', 'no-smtp', {
          src: 'branch',
          dest: 'uplink',
          proto: 'tcp',
          dest_port: '25',
          target: 'REJECT',
        }),
      ]),
  },
  {
    page: 'docs/policies.md',
    blocks: [1],
    before: async ({ kubectl, cluster }) => {
      await kubectl('create', 'namespace', 'shop');
      await apply(cluster, 'shop', {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { name: 'web' },
        spec: { podSelector: { matchLabels: { app: 'web' } }, policyTypes: ['Ingress'] },
      });
    },
  },
  {
    page: 'docs/cli.md',
    blocks: [7, 15],
    before: async ({ cluster }) => {
      const web = { name: 'web-1', labels: { app: 'web' } };
      const container = { name: 'web', image: 'web:none' };
      await apply(cluster, 'shop', {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: web,
        spec: { containers: [container] },
      });
    },
  },
  {
    page: 'docs/policies.md',
    blocks: [3],
    // Without an address it would be in the way of the Service with its label.
    after: async ({ kubectl }) => void (await kubectl('delete', 'pod', 'web-1', '-n', 'shop')),
  },
  {
    page: 'docs/policies.md',
    blocks: [2],
    before: noted('clouds.yaml', () => 'clouds: {}'),
    after: async ({ kubectl }) => {
      await kubectl('delete', 'secret', 'sdewan-openstack', '-n', SYSTEM_NAMESPACE);
      await kubectl('delete', 'clusterrolebinding', 'sdewan-neutron');
    },
  },
  {
    page: 'docs/network-ports.md',
    blocks: [1, 2],
    after: async ({ kubectl }) => {
      await kubectl('delete', 'rolebinding', 'sdewan-network-ports', '-n', 'shop');
      await kubectl('label', 'namespace', 'shop', 'sdewan.akraino.org/network-ports-');
    },
  },
  {
    page: 'docs/services.md',
    blocks: [1, 2, 3, 4],
    before: async (stage) => {
      const { kubectl, cluster, onlyRules } = stage;
      await onlyRules([lan, zone('wan1', 'ovn-net2')]);
      await annotateCnf(stage, 'sdewan.akraino.org/accepts-services-from', 'shop');
      const service = (name: string, spec: object) => ({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name },
        spec: { selector: { app: name }, ports: [{ port: 8080 }], ...spec },
      });
      await apply(cluster, 'shop', service('web', {}), service('db', { clusterIP: 'None' }));
      await kubectl(
        'annotate',
        '-n',
        'shop',
        'service/db',
        `sdewan.akraino.org/expose=${NAMESPACE}/${PURPOSE}`,
        'sdewan.akraino.org/expose-zone=wan1',
      );
      await apply(
        cluster,
        NAMESPACE,
        rule('CNFService', 'nope', { fullname: 'no-such-name.invalid', port: '8867', dport: '80' }),
      );
    },
    after: async ({ kubectl }) => {
      await kubectl('delete', 'service', 'web', 'db', '-n', 'shop');
      await kubectl('delete', 'cnfservice', 'api', 'nope', '-n', NAMESPACE, '--timeout=500s');
      const made = ['firewalldnat,cnfnat', '--all', '-n', NAMESPACE, '--timeout=500s'];
      await kubectl('wait', '--for=delete', ...made);
    },
  },
  {
    page: 'docs/migration.md',
    blocks: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
    before: async (stage) => {
      await inSync(stage);
      await withIcn(stage);
    },
    words: async (stage) => ({
      ...ofIcn,
      '<pod>': await stage.aPod(),
      '<namespace>': NAMESPACE,
      'deployment/<cnf>': `deployment/${PURPOSE}`,
      '<cnf>': PURPOSE,
    }),
  },
  {
    page: 'docs/dashboard.md',
    blocks: [1, 2],
    around: ({ cluster }, follow) => withDashboard(cluster, follow),
  },
  { page: 'docs/fleet.md', blocks: [1] },
  { page: 'docs/fleet.md', blocks: [7, 2], before: asCnfDeployment },
  {
    page: 'docs/fleet.md',
    blocks: [3, 5],
    before: rollOutThatWaits,
    after: async ({ run, cluster }) => {
      await run(`sdewan rollout undo ${PURPOSE}`);
      await waitInSync(cluster, NAMESPACE, [...first, wan]);
    },
  },
  { page: 'docs/fleet.md', blocks: [4] },
  {
    page: 'docs/troubleshooting.md',
    blocks: [8],
    after: async ({ kubectl }) => {
      await kubectl('delete', 'cnfdeploy', PURPOSE, '-n', NAMESPACE, '--cascade=orphan');
    },
  },
  { page: 'docs/admission.md', blocks: [4] },
  {
    page: 'docs/migration.md',
    blocks: [11, 12],
    before: async ({ cluster }) => {
      await installProduct(cluster);
      await apply(cluster, NAMESPACE, lan);
    },
    words: () => Promise.resolve(ofIcn),
    after: async ({ kubectl }) => {
      await kubectl('delete', 'validatingwebhookconfiguration', ICN);
      await kubectl('delete', 'namespace', ICN, '--wait=false');
    },
  },
];
