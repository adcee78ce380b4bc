/**
 * Follows the guide "Adding a kind" of docs/development.md in a copy of the project: a rule that
 * ICN does not have, and a resource of the whole cluster in another API group, by one file each,
 * the samples of the rule, and a line each in the registry. Then they are in the CRDs, the rights,
 * admission, the page of kinds and `kubectl` on a real API server, and the suites try them as all
 * others.
 */
import { execFile } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { startCluster, type Cluster } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { copyTree, type Tree } from '../../run/mutants/tree.ts';
import { ROOT } from '../../run/product-files.ts';

const execute = promisify(execFile);
const COORDINATOR = 'system:serviceaccount:sdewan-system:sdewan-coordinator';
const SUITE_TIMEOUT_MS = 240_000;
const CONFORMANCE = 'test/contract/conformance/golden.test.ts';

let tree: Tree;
/** What `npm run generate` has changed. */
let changed: string[];

const inTree = (file: string): string => path.join(tree.root, file);

const edit = (file: string, from: string, to: string): void => {
  const text = readFileSync(inTree(file), 'utf8');
  expect(text).toContain(from);
  writeFileSync(inTree(file), text.replace(from, to));
};

const run = async (...args: string[]): Promise<string> => {
  // Its own run: it must not join ours.
  const { VITEST: _vitest, VITEST_POOL_ID: _pool, VITEST_WORKER_ID: _worker, ...env } = process.env;
  const options = { cwd: tree.root, env, maxBuffer: 64_000_000 };
  return execute(process.execPath, args, options).then(
    ({ stdout, stderr }) => stdout + stderr,
    (error: { stdout?: string; stderr?: string }) => {
      throw new Error(`${args.join(' ')}: ${error.stdout ?? ''}${error.stderr ?? ''}`);
    },
  );
};

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
});

/** The suites of the copy; gives the names of the tests that passed. @throws where one fails */
const suites = async (project: string, ...files: string[]): Promise<string[]> => {
  const options = ['run', '--config', 'test/vitest.config.ts', '--project', project];
  const output = inTree('report.json');
  const reporter = ['--reporter=default', '--reporter=json', `--outputFile.json=${output}`];
  await run('node_modules/vitest/vitest.mjs', ...options, ...reporter, ...files);
  const report = reportSchema.parse(JSON.parse(readFileSync(output, 'utf8')));
  return report.testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .flatMap(({ fullName, status }) => (status === 'passed' ? fullName : []));
};

beforeAll(async () => {
  tree = copyTree(ROOT);
  const fixture = (name: string) => path.join(import.meta.dirname, 'adding-a-kind', name);
  copyFileSync(fixture('firewall-set.ts'), inTree('shared/resources/rules/firewall-set.ts'));
  copyFileSync(fixture('site-quota.ts'), inTree('shared/resources/site-quota.ts'));
  copyFileSync(
    path.join(ROOT, 'test/samples/added/firewall-set.ts'),
    inTree('test/samples/kinds/firewall-set.ts'),
  );
  const registry = 'shared/resources/registry.ts';
  edit(
    registry,
    '\nimport {',
    "\nimport { firewallSet } from './rules/firewall-set.ts';\nimport {",
  );
  edit(registry, '  firewallZone,\n', '  firewallZone,\n  firewallSet,\n');
  const resources = 'shared/resources/resources.ts';
  edit(resources, '\nimport {', "\nimport { siteQuota } from './site-quota.ts';\nimport {");
  edit(resources, '  cnfStatusResource,\n', '  cnfStatusResource,\n  siteQuota,\n');

  const told = await run('deploy/generate/main.ts', '--check').catch(String);
  changed = /npm run generate: (.*)/.exec(told)?.[1]?.split(', ').sort() ?? [];
  await run('deploy/generate/main.ts');
});
afterAll(() => tree[Symbol.dispose]());

it('is in the CRDs, the rights, admission and the page of kinds, and changes nothing else', () => {
  expect(changed).toEqual([
    'deploy/1.36/finalizers.yaml',
    'deploy/chart/templates/uninstall.yaml',
    'deploy/crds/firewallsets.yaml',
    'deploy/crds/kustomization.yaml',
    'deploy/crds/sitequotas.yaml',
    'deploy/policies/coordinator.yaml',
    'deploy/policies/size.yaml',
    'deploy/policies/statuses.yaml',
    'deploy/rbac/agent-roles.yaml',
    'deploy/rbac/coordinator.yaml',
    'deploy/rbac/viewer-role.yaml',
    'deploy/webhooks/validating.yaml',
    'docs/kinds.md',
  ]);
  const page = readFileSync(inTree('docs/kinds.md'), 'utf8');
  expect(page).toContain('- [FirewallSet](#firewallset): A set of addresses.\n');
  expect(page).toContain('API group `quota.example.org/v1`. One for the whole cluster');
});

describe('the suites try the new rule as all others', () => {
  it(
    'cover its UCI, its fields, and what it refers to',
    { timeout: SUITE_TIMEOUT_MS },
    async () => {
      const report = await suites(
        'unit',
        'test/golden/golden.test.ts',
        'shared/resources',
        'test/run/product-names.test.ts',
      );
      expect(report).toContain('golden: FirewallSet comes to the UCI text as kept');
      expect(report).toContain('SiteQuota is named by resources only');
    },
  );

  it(
    "cover OpenWRT by each driver; ICN's REST says that it does not have it",
    { timeout: SUITE_TIMEOUT_MS },
    async () => {
      const passed = await suites('contract', CONFORMANCE, '-t', 'FirewallSet$');
      // vitest cuts long names.
      for (const way of ['ubus, with a login of its own', 'ubus, as root', "ICN's REST"])
        expect(passed.filter((name) => name.startsWith(`golden UCI through ${way}`))).toEqual([
          expect.stringMatching(/FirewallSet$/),
        ]);
    },
  );
});

describe('a real API server', () => {
  let cluster: Cluster;
  const kubectl = async (...args: string[]): Promise<string> =>
    (await cluster.kubectl(args)).stdout;
  const create = (object: object, ...flags: string[]): Promise<unknown> =>
    cluster.kubectl(['create', '-f', '-', ...flags], { stdin: JSON.stringify(object) });

  beforeAll(async () => {
    cluster = await startCluster({ backend: 'process' });
    await kubectl('apply', '-k', inTree('deploy'));
    await kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=500s');
  });
  afterAll(() => cluster.stop());

  const quota = {
    apiVersion: 'quota.example.org/v1',
    kind: 'SiteQuota',
    metadata: { name: 'berlin' },
    spec: { site: 'berlin', rules: 5 },
  };
  const set = {
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind: 'FirewallSet',
    metadata: { name: 'bad-guys', namespace: 'default', labels: { sdewanPurpose: 'cnf-1' } },
    spec: { entry: ['192.0.2.0/24'] },
  };

  it('takes both, explains them, and lists them by category and short name', async () => {
    await create(quota);
    await create(set);
    expect(await kubectl('get', 'sdewan', '-A')).toMatch(/sitequota\.quota\.example\.org\/berlin/);
    expect(await kubectl('get', 'sq')).toMatch(/NAME +SITE\nberlin +berlin\n/);
    expect(await kubectl('get', 'fwset')).toMatch(
      /NAME +PURPOSE +APPLIED +IN SYNC +REASON +AGE\nbad-guys +cnf-1/,
    );
    expect(await kubectl('explain', 'sitequota.spec.rules')).toContain('How many rules.');
    expect(await kubectl('explain', 'firewallset.spec.timeout')).toContain('For how many seconds');
  });

  it('gives a rule a status with a field of its kind beside those of all rules', async () => {
    const status = { entries: 1, inSync: true, pods: { live: 1, applied: 1, summary: '1/1' } };
    const patch = ['--subresource=status', '--type=merge', '-p', JSON.stringify({ status })];
    await kubectl('-n', 'default', 'patch', 'fwset', 'bad-guys', ...patch);
    const shown = ['-o', 'jsonpath={.status.entries} {.status.inSync}'];
    expect(await kubectl('-n', 'default', 'get', 'fwset', 'bad-guys', ...shown)).toBe('1 true');
    expect(await kubectl('explain', 'firewallset.status.entries')).toContain('How many addresses');
  });

  it('refuses specs that their schemas exclude', async () => {
    const wrong = { ...quota, metadata: { name: 'wrong' }, spec: { rules: 5 } };
    await expect(create(wrong)).rejects.toThrow('is required');
    const alone = { ...set, metadata: { ...set.metadata, name: 'alone' } };
    await expect(create({ ...alone, spec: { ...set.spec, timeout: 9 } })).rejects.toThrow(
      'is required with timeout',
    );
    const noPurpose = { ...set, metadata: { name: 'none', namespace: 'default' } };
    await expect(create(noPurpose)).rejects.toThrow('sdewanPurpose is required');
  });

  it.each([
    ['agents read the rule', 'list', 'firewallsets', 'sdewan-agent', 'yes'],
    [
      'agents do not read what is no rule',
      'list',
      'sitequotas.quota.example.org',
      'sdewan-agent',
      'no',
    ],
  ])('%s', async (_what, verb, resource, role, answer) => {
    const user = 'system:serviceaccount:default:cnf';
    const binding = [
      'rolebinding',
      'agents',
      `--clusterrole=${role}`,
      '--serviceaccount=default:cnf',
    ];
    await cluster.kubectl(['create', ...binding], { allowFailure: true });
    const args = ['auth', 'can-i', verb, resource, '--as', user];
    const { stdout } = await cluster.kubectl(args, { allowFailure: true });
    expect(stdout.trim().split('\n').at(-1)).toBe(answer);
  });

  it('lets the coordinator read both, and make and change neither', async () => {
    const as = ['--as', COORDINATOR];
    expect(await kubectl('get', 'sq', 'berlin', '-o', 'name', ...as)).toContain('berlin');
    const again = { ...quota, metadata: { name: 'again' } };
    await expect(create(again, ...as)).rejects.toThrow('forbidden');
    const patch = ['--type=merge', '-p', '{"spec":{"rules":6}}'];
    await expect(kubectl('patch', 'sq', 'berlin', ...patch, ...as)).rejects.toThrow(
      'cannot patch resource "sitequotas"',
    );
  });

  it(
    'is left without them by `sdewan uninstall`, in both groups',
    { timeout: SUITE_TIMEOUT_MS },
    async () => {
      const said = await run(
        'coordinator/cli/main.ts',
        'uninstall',
        '--yes',
        '--force',
        '--timeout',
        '60',
        '--kubeconfig',
        cluster.kubeconfig,
      );
      expect(said).toContain('done');
      expect(await kubectl('get', 'crd', '-o', 'name')).toBe('');
    },
  );
});
