/**
 * What is tested beside `npm test`, by suites: `npm run suite NAME`. `.ci/run` runs those whose
 * inputs have changed since they passed, and one of the others (due.ts). A suite starts programs,
 * so its inputs are folders, not what it imports: of the product those that it is about, whose
 * faults it would be the first to show; its own, and those that help it. Whatever else of the
 * product its programs run is proven by `npm test` on each commit, and by the draw.
 */
import { installCommand, installPackages, mayInstall } from 'kind-test-harness';
import * as z from 'zod';
import { whyNoNeutron } from '../neutron/harness/install.ts';
import { CASES_VARIABLE, SHARE } from '../neutron/share.ts';
import { CHROMIUM, hasChromium } from '../e2e/users/browser/chromium.ts';
import config from '../vitest.config.ts';
import { shareOfFaults, shareOfLoad } from './commit-share.ts';
import { onRealNode } from './real-node.ts';
import { inParts, type Project, type Stage } from './stages.ts';
import type { Inputs } from './tested.ts';
import { traced } from './traced.ts';

export type Suite = {
  what: string;
  projects: readonly Project[];
  /** Absent: its projects, at the same time. */
  stages?: () => Stage[] | Promise<Stage[]>;
  /** Pathspecs of git, from the root, with blanks between them. */
  inputs: string;
  /** On two cores, beside other suites. */
  seconds: number;
  /** It measures, and has the machine for itself. */
  isAlone?: true;
  /** Where there is no root on Linux it is left out. */
  needsRoot?: true;
};

/** Pathspecs of git: what puts the programs together. */
const MAINS = ':(glob)agent/*.ts :(glob)coordinator/*.ts';
/** What an installation is; the generators are not, since `npm test` compares what they make. */
const INSTALLED = 'deploy :!deploy/chart :!deploy/generate :!deploy/krew';
/** What starts the product on a test cluster, and looks at it. */
const STACK = `
  test/stack test/openwrt/simulator test/openwrt/device test/openwrt/checks test/deploy/manifests test/deploy/images
  test/run/product-files.ts test/e2e/cluster.ts test/e2e/global-setup.ts
`;
const ON_NODE = { name: 'e2e-node*', files: ['test/e2e/node/'] };
const RANDOM = 'test/run/random.ts test/run/replay.ts';

/** Their order says which are drawn together: the first few and the last. */
export const SUITES: Readonly<Record<string, Suite>> = {
  prometheus: {
    what: 'what Prometheus says of metrics and alarms',
    projects: [{ name: 'prometheus' }],
    inputs: `
      agent/metrics.ts coordinator/metrics.ts coordinator/exposed.ts deploy/generate
      deploy/alerts.yaml deploy/monitors.yaml test/deploy/prometheus test/openwrt/checks
    `,
    seconds: 30,
  },
  gitops: {
    what: 'what Flux and Argo CD make of the installation and of each kind; backup and restore',
    projects: [{ name: 'gitops' }],
    inputs: `
      ${INSTALLED} coordinator/rule-status coordinator/controllers/fleet shared/protocol shared/resources
      coordinator/cli/apply ${STACK} test/deploy/gitops test/deploy/chart/global-setup.ts test/samples test/e2e/users/docs
      docs/gitops.md docs/upgrading.md
    `,
    seconds: 100,
  },
  trace: {
    what: 'traces, judged by the kernel',
    projects: [{ name: 'trace' }],
    stages: () => traced(500),
    inputs: `
      shared/trace shared/compile shared/resources shared/uci
      test/kernel/trace test/openwrt/device test/openwrt/checks test/samples test/stack ${RANDOM}
    `,
    seconds: 60,
    needsRoot: true,
  },
  outages: {
    what: 'coordinators, agents, OpenWRT, webhooks and watches that are down or killed',
    projects: [{ name: 'e2e-outages' }],
    stages: () => [{ projects: inParts({ name: 'e2e-outages' }, 2) }],
    inputs: `
      ${MAINS} ${INSTALLED} agent coordinator shared
      :!agent/inputs/distance.ts :!coordinator/cli :!coordinator/dashboard :!coordinator/controllers/fleet :!coordinator/controllers/generated-rules
      :!coordinator/neutron :!coordinator/controllers/security-groups :!coordinator/tracing :!shared/trace
      ${STACK} :(glob)test/e2e/*.ts test/e2e/processes test/e2e/outages test/faults :!test/faults/walks :!test/faults/fuzz test/integration test/contract test/kernel/policy
    `,
    seconds: 450,
  },
  node: {
    what: 'what only a real node can show',
    projects: [ON_NODE],
    stages: () => onRealNode('the tests of a real node', [ON_NODE]),
    inputs: `
      ${MAINS} agent/server agent/io coordinator/admission/cnf coordinator/controllers/certificates coordinator/controllers/network-ports shared/inject
      shared/compile/multus.ts shared/compile/networks.ts
      ${INSTALLED} ${STACK} test/e2e/node
    `,
    seconds: 450,
    needsRoot: true,
  },
  packets: {
    what: 'policies and virtual addresses, judged by the kernel',
    projects: [{ name: 'packets' }],
    stages: () => onRealNode('the tests of packets', [{ name: 'packets' }]),
    inputs: `
      agent/network-policy shared/policy coordinator/controllers/network-policy shared/compile shared/resources
      deploy/cnf-image test/kernel/policy test/kernel/vrrp test/kernel/cnf-image test/openwrt/simulator test/openwrt/checks
    `,
    seconds: 150,
    needsRoot: true,
  },
  fleet: {
    what: 'roll-outs of CNFDeployments under traffic, and updates by a real registry',
    projects: [{ name: 'fleet' }, { name: 'registry' }],
    inputs: `
      agent/inputs/distance.ts agent/server coordinator/controllers/fleet coordinator/sources coordinator/controllers/cnf-status
      coordinator/cli/rollout shared/protocol ${STACK} test/e2e/fleet test/registry test/integration/support
    `,
    seconds: 600,
  },
  users: {
    what: 'what kubectl and `sdewan` print',
    projects: [{ name: 'users' }, { name: 'dashboard' }],
    inputs: `
      ${MAINS} ${INSTALLED} agent coordinator shared
      :!agent/openwrt/icn :!coordinator/neutron :!coordinator/controllers/security-groups
      ${STACK} test/e2e/users test/golden/broken test/deploy/prometheus :!test/e2e/users/browser :!test/e2e/users/docs
    `,
    seconds: 330,
  },
  docs: {
    what: 'the commands of README and docs/, and what they print',
    projects: [{ name: 'docs' }],
    inputs: `
      coordinator/cli coordinator/dashboard coordinator/controllers/fleet coordinator/controllers/generated-rules
      shared/resources shared/trace deploy/examples deploy/opt-in ${STACK} test/e2e/users/docs docs README.md
    `,
    seconds: 240,
  },
  browser: {
    what: 'the dashboard in Chromium',
    projects: [{ name: 'browser' }],
    stages: async () => {
      const because = await whyNoBrowser();
      return because === undefined
        ? [{ projects: [{ name: 'browser' }] }]
        : [{ cannotRun: 'the tests in a browser', because }];
    },
    inputs: `
      coordinator/dashboard shared/trace deploy/dashboard
      test/e2e/users test/integration test/attacks test/stack test/openwrt/checks
      :!test/e2e/users/docs :!test/e2e/users/dashboard
    `,
    seconds: 75,
  },
  chart: {
    what: 'the chart with the real Helm',
    projects: [{ name: 'chart' }],
    inputs: `
      deploy :!deploy/krew :!deploy/images coordinator/admission coordinator/env.ts
      ${STACK} test/deploy/chart test/deploy/helm-binary test/e2e/users/docs docs/chart.md
    `,
    seconds: 150,
  },
  'faults-share': {
    what: 'a tenth of the fault table, drawn by the commit',
    projects: [{ name: 'faults' }],
    stages: () => [{ projects: [shareOfFaults()] }],
    inputs: `
      agent :!agent/inputs/distance.ts :!agent/server coordinator/sources
      coordinator/controllers/refused-pods coordinator/reports coordinator/controllers/rules coordinator/rule-status
      shared/compile shared/http shared/kube shared/protocol shared/resources shared/runtime shared/uci shared/util
      ${STACK} test/faults test/faults/walks ${RANDOM}
    `,
    seconds: 145,
    isAlone: true,
  },
  'load-share': {
    what: 'attacks by sheer size: one of two parts, drawn by the commit',
    projects: [{ name: 'load' }],
    stages: () => [{ projects: [shareOfLoad()] }],
    inputs: `
      coordinator/admission coordinator/controllers/network-policy coordinator/reports
      coordinator/controllers/rules shared/http shared/kube shared/runtime test/attacks test/integration test/stack
      test/contract/agent/support test/openwrt/checks test/openwrt/simulator
    `,
    seconds: 150,
    isAlone: true,
  },
  'neutron-share': {
    what: 'policies as security groups of a real Neutron: five of the cases',
    projects: [{ name: 'neutron' }],
    stages: shareOfNeutron,
    inputs: `
      coordinator/controllers/network-policy coordinator/neutron coordinator/controllers/security-groups shared/policy
      test/kernel/policy test/neutron test/neutron/harness
    `,
    seconds: 110,
  },
  guides: {
    what: 'the guide "Adding a kind", followed in a copy of the project',
    projects: [{ name: 'guides' }],
    inputs: `
      shared/resources shared/compile deploy/generate deploy/crds
      test/deploy/guides test/run/mutants/tree.ts test/run/product-files.ts test/samples test/golden
      test/contract/conformance test/openwrt/simulator
    `,
    seconds: 90,
  },
  harness: {
    what: 'the own tests of test/kind-test-harness',
    projects: [{ name: 'harness' }],
    inputs: 'test/integration/harness',
    seconds: 160,
  },
  'harness-node': {
    what: 'the own tests of its real node',
    projects: [{ name: 'node' }],
    stages: () => onRealNode('the tests of the real node', [{ name: 'node' }]),
    inputs: `
      :(glob)test/integration/node* test/integration/node
      test/deploy/images test/run/product-files.ts test/stack test/openwrt/device
    `,
    seconds: 110,
    needsRoot: true,
  },
};

/** vitest takes `*` at the end of a name for all that begin so. */
export const isOneOf = (projects: readonly Project[], project: string): boolean =>
  projects.some(({ name }) =>
    name.endsWith('*') ? project.startsWith(name.slice(0, -1)) : name === project,
  );

const configured = z.looseObject({ test: z.looseObject({ name: z.string() }) });

/** How vitest runs its tests counts as well. */
export const inputsOf = ({ inputs, projects }: Suite): Inputs => ({
  paths: inputs.trim().split(/\s+/),
  settings: config.test?.projects
    ?.map((each) => configured.parse(each))
    .filter(({ test }) => isOneOf(projects, test.name)),
});

/** Undefined: it is there. In CI, as root, it is installed. */
async function whyNoBrowser(): Promise<string | undefined> {
  if (await hasChromium()) return undefined;
  if (!mayInstall(process.env)) return `it needs a browser: ${installCommand([CHROMIUM])}`;
  return installPackages([CHROMIUM], { env: process.env, say: console.warn }).then(
    () => undefined,
    (error: unknown) => `its browser cannot be had: ${String(error)}`,
  );
}

/** Where Neutron cannot be had nothing is proven about it, which in CI is a failure. */
async function shareOfNeutron(): Promise<Stage[]> {
  const because = await whyNoNeutron();
  if (because === undefined)
    return [{ projects: [{ name: 'neutron', env: { [CASES_VARIABLE]: SHARE.join() } }] }];
  if (process.env['CI'] === 'true') return [{ cannotRun: 'neutron-share', because }];
  console.log(`No Neutron here: ${because}. Nothing is proven about it.`);
  return [];
}

/** What needs minutes of waiting, or hours: programs with options of their own. */
export const PROGRAMS: Readonly<Record<string, { what: string; file: string }>> = {
  nightly: { what: 'what takes too long for every change, or parts of it', file: 'nightly.ts' },
  faults: { what: 'rows of the fault table', file: 'faults.ts' },
  soak: { what: 'half an hour of constant change', file: 'soak.ts' },
  device: { what: 'drivers, kernel and packets on a real OpenWRT', file: 'device.ts' },
  mutants: { what: 'bugs that tests must notice', file: './mutants/main.ts' },
  stryker: { what: 'the same, by Stryker', file: './mutants/stryker.ts' },
};
