import { defineConfig } from 'vitest/config';
import { caseCount } from '../shared/runtime/testing.ts';
import { reporters } from './run/reporter.ts';

/** Only what hangs is ended: what computes takes as long as a busy machine has it take. */
const HANGS_MS = 900_000;

/**
 * One project per cost: `unit` needs nothing but Node; the others start what they need by
 * themselves.
 */
const project = (
  name: string,
  include: string[],
  { globalSetup = [], exclude = [] }: { globalSetup?: string[]; exclude?: string[] } = {},
) => ({
  test: {
    name,
    include,
    exclude,
    testTimeout: HANGS_MS,
    hookTimeout: 2 * HANGS_MS,
    globalSetup,
    setupFiles: [] as string[],
    expect: { poll: { timeout: HANGS_MS / 3 } },
    root: `${import.meta.dirname}/..`,
  },
});

/**
 * They replay thousands of recordings or histories, or start programs: `npm run check` leaves them
 * to `npm test`.
 */
const LONG_UNIT_TESTS = [
  'agent/reconcile/commit-confirm.test.ts',
  'agent/report/publish.test.ts',
  'coordinator/controllers/certificates/controller.test.ts',
  'coordinator/cli/{inject,process,program,install/install,completion/completion}.test.ts',
  'coordinator/dashboard/live.test.ts',
  'coordinator/controllers/fleet/{controller,histories,owned-lists}.test.ts',
  'coordinator/reports/intake.test.ts',
  'coordinator/controllers/rules/controller.test.ts',
  'deploy/generate/hostile-fields.test.ts',
  'deploy/images/bundle.test.ts',
  'shared/kube/informer/reflector.test.ts',
  'test/kernel/policy/cases.test.ts',
  'test/{run,stack}/*.test.ts',
  'test/kernel/trace/corpus.test.ts',
  'test/faults/walks/*.test.ts',
];
const isShort = process.env['SDEWAN_UNIT_TESTS'] === 'short';

type Project = ReturnType<typeof project>;

/** What all files share is away, or changed, in these tests. */
const inOneRow = ({ test }: Project, groupOrder = 0) => ({
  test: { ...test, fileParallelism: false, sequence: { groupOrder } },
});

/**
 * vitest leaves a core to itself, and so runs one file at a time on two. Half of the time our files
 * wait.
 */
const inParallel = ({ test }: Project) => ({ test: { ...test, maxWorkers: 2 } });

/**
 * Files of integration tests would meet on one control plane, so each worker has its own. They wait
 * more than they compute.
 */
const inLanes = ({ test }: Project) => ({
  test: { ...test, maxWorkers: 3, setupFiles: ['test/run/worker-cluster.ts'] },
});

/**
 * Modules are loaded once: half the time. What a file sets beyond itself (environment, clocks) it
 * sets back.
 */
const inOneWorker = ({ test }: Project) => ({ test: { ...test, isolate: false } });

/**
 * Their random cases come from the run's seed, as many as it wants; with more of them a test may
 * take longer.
 */
const withRandomCases = ({ test }: Project) => ({
  test: {
    ...test,
    setupFiles: [...test.setupFiles, 'test/run/properties.ts'],
    testTimeout: Math.max(test.testTimeout, caseCount(test.testTimeout)),
  },
});

/** One cluster for all files of a run; they join it with `connectCluster()`. */
const globalSetup = ['test/kind-test-harness/src/vitest-setup.ts'];
const PROGRAMS = 'test/stack/programs.ts';
/** Only a change of the harness can break them: `npm run suite harness`. */
const HARNESS_TESTS = [
  'test/integration/harness/**/*.test.ts',
  'test/kind-test-harness/src/**/*.test.ts',
];
/**
 * They take all that a tenant may use, and what the coordinator's memory comes to; or need the
 * machine for themselves.
 */
const LOAD_TESTS = ['test/attacks/load/*.test.ts', 'test/integration/load/*.test.ts'];
/** They need a device (`npm run suite device`): the simulator does less, or nothing, of it. */
const DEVICE_ALONE = ['test/contract/conformance/{any-configuration,mwan3-nft,policies}.test.ts'];
/** What cargo fetches, cmake builds. */
const LIBUCI = ['test/contract/night/libuci.test.ts'];
/** They start nodes of their own, and need root. */
const NODE_TESTS = ['test/integration/node*.test.ts'];

export default defineConfig({
  test: {
    reporters: reporters(),
    projects: [
      withRandomCases(
        inParallel(
          inOneWorker(
            project(
              'unit',
              [
                '{agent,coordinator,shared,deploy}/**/*.test.ts',
                'test/{golden,run,stack}/**/*.test.ts',
                'test/{openwrt/checks,faults/fuzz,faults/walks}/**/*.test.ts',
                'test/kernel/policy/*.test.ts',
                'test/faults/{choice,slope,judge/*}.test.ts',
                'test/kernel/trace/*.test.ts',
                'test/e2e/users/docs/chapters.test.ts',
              ],
              { exclude: isShort ? LONG_UNIT_TESTS : [] },
            ),
          ),
        ),
      ),
      // Random texts, with another seed each night: `npm run suite nightly libuci`.
      withRandomCases(project('libuci', LIBUCI)),
      // On one device, or on its recordings: `npm run suite device`.
      inOneRow(
        project('device', [
          'test/contract/conformance/{driver,kernel,packets,ipsec*,walk,any-configuration,amendments,takeover,commit-confirm,lost-ledger,mwan3*,policies,space}.test.ts',
          'test/attacks/agent-login.test.ts',
        ]),
      ),
      withRandomCases(
        inParallel(
          inOneWorker(
            project('contract', ['test/contract/**/*.test.ts'], {
              exclude: [...DEVICE_ALONE, ...LIBUCI],
            }),
          ),
        ),
      ),
      withRandomCases(
        inLanes(
          inOneWorker(
            project('integration', ['test/{integration,attacks}/**/*.test.ts'], {
              globalSetup: [PROGRAMS, ...globalSetup],
              exclude: [...NODE_TESTS, ...HARNESS_TESTS, ...LOAD_TESTS],
            }),
          ),
        ),
      ),
      // Packets really sent, where root, nft and a built device are.
      inOneRow(project('trace', ['test/kernel/trace/kernel/*.test.ts'])),
      // Each follows a guide in a copy of the project, with a control plane of its own.
      project('guides', ['test/deploy/guides/*.test.ts']),
      inOneRow(project('load', LOAD_TESTS, { globalSetup: [PROGRAMS, ...globalSetup] })),
      project('harness', HARNESS_TESTS, { globalSetup }),
      project('node', NODE_TESTS, { globalSetup: ['test/integration/node/programs.ts'] }),
      // Namespaces of this machine, whose kernel judges packets.
      inOneRow(
        project('packets', [
          'test/kernel/policy/packets/*.test.ts',
          'test/kernel/{cnf-image,vrrp}/*.test.ts',
        ]),
      ),
      // A real Neutron, which `test/neutron/harness` installs: `npm run suite neutron-share`, and
      // `npm run suite nightly neutron`.
      inOneRow(project('neutron', ['test/neutron/cases.test.ts'])),
      inOneRow(
        project('neutron-product', ['test/neutron/{ports,product}.test.ts'], {
          globalSetup: [PROGRAMS, ...globalSetup],
        }),
      ),
      // Two lanes, a cluster each. Files that leave each other alone wait more than they compute,
      // so two of them run at once.
      inParallel(
        project('e2e', ['test/e2e/*.test.ts', 'test/e2e/processes/*.test.ts'], {
          globalSetup: [PROGRAMS, 'test/e2e/global-setup.ts'],
        }),
      ),
      // What kubectl and `sdewan` print, in the same two lanes: `npm run suite users`.
      inParallel(
        project('users', ['test/e2e/users/*.test.ts'], {
          globalSetup: [PROGRAMS, 'test/e2e/global-setup.ts'],
        }),
      ),
      // What turns the coordinators' dashboard on, for which they start anew, on an installation of
      // its own: `npm run suite users`.
      inOneRow(
        project('dashboard', ['test/e2e/users/dashboard/*.test.ts'], {
          globalSetup: [PROGRAMS, 'test/e2e/global-setup.ts'],
        }),
      ),
      // The chart with the real Helm, on a cluster without the product: `npm run suite users`.
      inOneRow(
        project('chart', ['test/deploy/chart/*.test.ts'], {
          globalSetup: [PROGRAMS, 'test/deploy/chart/global-setup.ts'],
        }),
      ),
      // The commands of the documentation, in their order, on an installation of their own: `npm
      // run suite users`.
      inOneRow(
        project('docs', ['test/e2e/users/docs/docs.test.ts'], {
          globalSetup: [PROGRAMS, 'test/e2e/global-setup.ts'],
        }),
      ),
      // What Flux and Argo CD say, on a cluster on which Flux installs the product, and what a
      // backup restores: `npm run suite users`.
      inParallel(
        project('gitops', ['test/deploy/gitops/*.test.ts'], {
          globalSetup: [PROGRAMS, 'test/deploy/chart/global-setup.ts'],
        }),
      ),
      // What promtool says: `npm run suite users`.
      project('prometheus', ['test/deploy/prometheus/*.test.ts']),
      // A real registry of images: `npm run suite fleet`.
      project('registry', ['test/registry/*.test.ts']),
      // Where Chromium is, with a control plane of their own: `npm run suite users`.
      inOneRow(
        project('browser', ['test/e2e/users/browser/*.test.ts'], {
          globalSetup: [PROGRAMS, ...globalSetup],
        }),
      ),
      // With a real OpenWRT userland as the CNF's image: `npm run suite -- device --product`.
      inOneRow(
        project(
          'e2e-device',
          ['test/e2e/device/*.test.ts', 'test/e2e/outages/unusual-cases.test.ts'],
          { globalSetup: [PROGRAMS, 'test/e2e/global-setup.ts'] },
        ),
      ),
      inOneRow(
        project('e2e-outages', ['test/e2e/outages/*.test.ts'], {
          globalSetup: [PROGRAMS, 'test/e2e/global-setup.ts'],
        }),
      ),
      // What is measured is what is lost: `npm run suite fleet`.
      inOneRow(
        project('fleet', ['test/e2e/fleet/*.test.ts'], {
          globalSetup: [PROGRAMS, 'test/e2e/fleet/global-setup.ts'],
        }),
      ),
      // Each stage, killed and frozen: `npm run suite nightly fleet`.
      inOneRow(
        project('fleet-night', ['test/e2e/fleet/night/*.test.ts'], {
          globalSetup: [PROGRAMS, 'test/e2e/fleet/global-setup.ts'],
        }),
      ),
      // An installation of its own: `npm run suite faults`.
      inOneRow(project('faults', ['test/faults/table.test.ts'], { globalSetup: [PROGRAMS] })),
      // Half an hour: `npm run suite soak`.
      inOneRow(project('soak', ['test/faults/soak.test.ts'], { globalSetup: [PROGRAMS] })),
      // On one node: first the one lane, then the other.
      inParallel(
        project('e2e-node', ['test/e2e/{,node/}*.test.ts'], {
          globalSetup: ['test/e2e/node/global-setup.ts'],
        }),
      ),
      inOneRow(
        project('e2e-node-outages', ['test/e2e/{,node/}outages/*.test.ts'], {
          globalSetup: ['test/e2e/node/global-setup.ts'],
        }),
        1,
      ),
      // Minutes of waiting: `npm run suite nightly node`.
      inOneRow(
        project('slow-e2e-node', ['test/e2e/node/slow/*.test.ts'], {
          globalSetup: ['test/e2e/node/global-setup.ts'],
        }),
      ),
    ],
  },
});
