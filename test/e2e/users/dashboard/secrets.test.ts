/**
 * Twenty secrets wherever people and programs put some, and all that the product shows to people:
 * none is in it.
 */
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSPECT_PORT } from '#shared/protocol/inspection.ts';
import { inspectAgent, kernelRules, metricsOf } from '../../../../coordinator/cli/agents/ask.ts';
import { withCluster } from '../../../../coordinator/cli/cluster/connect.ts';
import { createCnf } from '../../../stack/cnf.ts';
import { enterBy, withDashboard } from '../../../stack/dashboard.ts';
import { SYSTEM_NAMESPACE } from '../../../stack/installation.ts';
import { observePods, until } from '../../../stack/observe.ts';
import { apply, waitInSync } from '../../../stack/operator.ts';
import { rule, zone } from '../../../stack/rules.ts';
import { mayReadSecrets } from '../../../stack/secret-rights.ts';
import { beginSdewan, sdewan } from '../../../stack/sdewan.ts';
import { kubeconfigOf } from '../../../stack/service-account.ts';
import { e2eCluster } from '../../cluster.ts';

const PURPOSE = 'cnf-secrets';
const COORDINATOR_PORT = 9_465;
const MAX_PAGES = 200;

/** Texts of the length of a line in a PEM, so that the line can be told wherever it stands. */
const body = (of: string): string => Buffer.from(`${of}-`.repeat(5)).toString('base64');
const pem = (label: string, of: string): string =>
  `-----BEGIN ${label}-----\n${body(of)}\n-----END ${label}-----\n`;
const coded = (text: string): string => Buffer.from(text).toString('base64');
const session = (digit: string): string => `${digit}a`.repeat(16);
/** In the alphabet of URLs and without padding, as tokens are. */
const jwt = (of: string): string =>
  `eyJhbGciOiJub25lIn0.${Buffer.from(`{"sub":"${of}"}`).toString('base64url')}.c2lnbmF0dXJl`;

/** What must be nowhere, by where it was put. */
const PLANTED = {
  'spec: pre-shared key': 'planted-01-psk',
  'spec: certificate': body('planted-02'),
  'spec: private key': body('planted-03'),
  'spec: certificate of an authority': body('planted-04'),
  'annotation of a rule': 'planted-05-password',
  'Secret: any key': 'planted-06-any',
  'Secret: password': 'planted-07-password',
  'Secret: private key': body('planted-08'),
  'Secret: pre-shared key of a rule': 'planted-09-psk',
  'environment: password': 'planted-10-password',
  'environment: token': jwt('planted-11'),
  'annotation of a pod': 'planted-12-token',
  'UCI: password': 'planted-13-password',
  'UCI: key': 'planted-14-key',
  'UCI: session in a text': session('1'),
  'UCI: token in a text': jwt('planted-16'),
  'log: session in a text': session('2'),
  'log: password in a field': 'planted-18-password',
  'log: token of a header': jwt('planted-19'),
  'log: private key': body('planted-20'),
} as const;
/**
 * As it is, and what base64 makes of it within a longer text, which depends on how much stands
 * before it.
 */
const formsOf = (value: string): string[] => [
  value,
  ...['', 'x', 'xx'].map((before) => coded(before + value).slice(before === '' ? 0 : 4, -4)),
];
const found = (text: string): string[] =>
  Object.entries(PLANTED).flatMap(([where, value]) =>
    formsOf(value).some((form) => text.includes(form)) ? [where] : [],
  );

const proposal = rule(
  'IpsecProposal',
  'strong',
  { encryption_algorithm: 'aes256', hash_algorithm: 'sha256', dh_group: 'modp3072' },
  PURPOSE,
);
const site = (name: string, spec: object) => {
  const common = { remote: '203.0.113.9', crypto_proposal: ['strong'] };
  const connections = [{ name: `c-${name}`, conn_type: 'tunnel', mode: 'start' }];
  return rule('IpsecSite', name, { ...common, connections, ...spec }, PURPOSE);
};
/** charon finds a key by these alone. */
const identities = (name: string) => ({
  local_identifier: `edge.${name}`,
  remote_identifier: `hub.${name}`,
});
const byKey = site('by-key', {
  authentication_method: 'psk',
  pre_shared_key: PLANTED['spec: pre-shared key'],
  ...identities('by-key'),
});
const bySecret = site('by-secret', {
  remote: '203.0.113.10',
  authentication_method: 'psk',
  pre_shared_key_from: { name: 'login', key: 'psk' },
  ...identities('by-secret'),
});
const byCertificate = site('by-cert', {
  remote: '203.0.113.11',
  authentication_method: 'pubkey',
  local_public_cert: coded(pem('CERTIFICATE', 'planted-02')),
  local_private_cert: coded(pem('PRIVATE KEY', 'planted-03')),
  shared_ca: coded(pem('CERTIFICATE', 'planted-04')),
});
const lan = zone('lan1', 'ovn-net1', PURPOSE);
const annotated = {
  ...lan,
  metadata: {
    ...lan.metadata,
    annotations: { 'login/password': PLANTED['annotation of a rule'] },
  },
};

describe('no secret', async () => {
  const cluster = await e2eCluster();
  let namespace = '';
  let folder = '';
  let pod = '';

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sdewan-secrets-'));
    namespace = await cluster.createNamespace('secrets');
    await apply(cluster, namespace, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'login' },
      stringData: {
        any: PLANTED['Secret: any key'],
        password: PLANTED['Secret: password'],
        'tls.key': pem('PRIVATE KEY', 'planted-08'),
        psk: PLANTED['Secret: pre-shared key of a rule'],
      },
    });
    await apply(cluster, namespace, ...mayReadSecrets(namespace, 'login'));
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 1 });
    const environment = [
      `DB_PASSWORD=${PLANTED['environment: password']}`,
      `HARMLESS=${PLANTED['environment: token']}`,
    ];
    const deployment = [`deployment/${PURPOSE}`, '-n', namespace];
    await cluster.kubectl(['set', 'env', ...deployment, '-c', 'sdewan', ...environment]);
    await cluster.kubectl(['rollout', 'status', ...deployment, '--timeout=500s']);
    const rules = [annotated, proposal, byKey, bySecret, byCertificate];
    await apply(cluster, namespace, ...rules);
    await waitInSync(cluster, namespace, rules);
    pod = await until('one pod is left', async () => {
      const pods = await observePods(cluster, namespace, PURPOSE);
      return pods.length === 1 ? pods[0]?.name : undefined;
    });
    const annotations = [
      `login/token=${PLANTED['annotation of a pod']}`,
      `note=of ${PLANTED['Secret: any key']}`,
    ];
    await cluster.kubectl(['annotate', '-n', namespace, `pod/${pod}`, ...annotations]);
    const uci = [
      "config rule 'theirs'",
      `\toption password '${PLANTED['UCI: password']}'`,
      `\toption api_key '${PLANTED['UCI: key']}'`,
      `\toption note 'session ${PLANTED['UCI: session in a text']}'`,
      `\toption other 'bearer ${PLANTED['UCI: token in a text']}'`,
    ].join('\n');
    const command = `echo ${coded(`\n${uci}\n`)} | base64 -d >> /etc/config/firewall`;
    await cluster.exec({ namespace, pod, container: 'sdewan' }, ['sh', '-c', command]);
    const lines = [
      `ubus call failed, session ${PLANTED['log: session in a text']}`,
      JSON.stringify({ level: 30, msg: 'login', password: PLANTED['log: password in a field'] }),
      JSON.stringify({ msg: `sent Bearer ${PLANTED['log: token of a header']}` }),
      JSON.stringify({ msg: `read ${pem('PRIVATE KEY', 'planted-20')}` }),
      `tried ${PLANTED['Secret: any key']} and ${PLANTED['spec: pre-shared key']}`,
    ];
    await appendFile(
      join(cluster.logsDirectory, namespace, pod, 'sdewan-agent.log'),
      lines.map((line) => `${line}\n`).join(''),
    );
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('can be overlooked among the twenty', () => {
    expect(Object.keys(PLANTED)).toHaveLength(20);
    for (const [where, value] of Object.entries(PLANTED))
      for (const before of ['', 'a', 'aa'])
        expect([found(before + value), found(coded(`${before}${value} b`))]).toEqual([
          [where],
          [where],
        ]);
  });

  it('is in what the agent answers, in the rules of the kernel, or in any metric', async () => {
    const io = {
      env: {},
      readText: async () => '',
      out: () => undefined,
      say: () => undefined,
    };
    const names = ['-o', 'jsonpath={.items[*].metadata.name}'];
    const { stdout } = await cluster.kubectl(['get', 'pods', '-n', SYSTEM_NAMESPACE, ...names]);
    const coordinators = stdout.split(' ').map((name) => ({ namespace: SYSTEM_NAMESPACE, name }));
    const options = { kubeconfig: cluster.kubeconfig };
    const { signal } = new AbortController();
    const answers = await withCluster({ options, io }, async (connected) => {
      const of = { namespace, name: pod };
      const ofCoordinators = await Promise.all(
        coordinators.map((one) => metricsOf(connected, one, COORDINATOR_PORT, signal)),
      );
      return {
        inspection: JSON.stringify(await inspectAgent(connected, of, signal)),
        kernel: JSON.stringify(await kernelRules(connected, of, signal)),
        metrics: await metricsOf(connected, of, INSPECT_PORT, signal),
        coordinators: ofCoordinators.join('\n'),
      };
    });
    expect(answers.inspection).toContain('theirs');
    expect(answers.metrics).toContain('sdewan_agent_');
    expect(answers.coordinators).toContain(`namespace="${namespace}"`);
    for (const [what, text] of Object.entries(answers))
      expect([what, found(text)]).toEqual([what, []]);
  });

  it('is in a support bundle', async () => {
    const target = join(folder, 'bundle');
    const bundle = () =>
      sdewan(cluster, 'support-bundle', '-n', namespace, '--output-directory', target);
    const { code, out } = await bundle();
    expect([code, out]).toEqual([
      0,
      expect.stringContaining(`pods/${namespace}/${pod}/inspect.json`),
    ]);
    const entries = await readdir(target, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
    // What was planted was looked at: the lines of the log, the environment, the rules.
    for (const there of ['ubus call failed', 'DB_PASSWORD', 'by-cert', 'theirs', 'tls.key'])
      expect([there, texts.some((text) => text.includes(there))]).toEqual([
        there,
        there !== 'tls.key',
      ]);
    for (const [at, text] of texts.entries())
      expect([files[at], found(text)]).toEqual([files[at], []]);
    for (const name of ['rules/firewallzones.yaml', 'events.yaml', 'contents.txt', 'version.txt'])
      expect(files).toContain(join(target, name));
    expect(await bundle()).toMatchObject({
      code: 2,
      said: expect.stringContaining('is there already'),
    });
  });

  it('is on a page of the dashboard, for a user with the right to read everything', async () => {
    await cluster.kubectl(['create', 'serviceaccount', 'admin', '-n', namespace]);
    const binding = ['clusterrolebinding', `${namespace}-admin`];
    await cluster.kubectl([
      'create',
      ...binding,
      '--clusterrole=cluster-admin',
      `--serviceaccount=${namespace}:admin`,
    ]);
    const kubeconfig = join(folder, 'admin');
    await writeFile(kubeconfig, await kubeconfigOf(cluster, namespace, 'admin'));
    try {
      await withDashboard(cluster, async () => {
        const { out, end } = await beginSdewan(
          cluster,
          'dashboard',
          '--no-browser',
          '--kubeconfig',
          kubeconfig,
        );
        const entered = await enterBy(out.trim());
        const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
        const pages = await pagesFrom(new URL('/', out.trim()), { cookie, of: namespace });
        await end();
        const paths = [...pages.keys()];
        for (const part of ['/cnf/', '/firewall/', '/by-key', '/by-secret', '/by-cert'])
          expect(paths).toContainEqual(expect.stringContaining(part));
        for (const [path, text] of pages) expect([path, found(text)]).toEqual([path, []]);
      });
    } finally {
      await cluster.kubectl(['delete', ...binding]);
    }
  });

  it('can be read by the role for viewers', async () => {
    await cluster.kubectl(['create', 'serviceaccount', 'viewer', '-n', namespace]);
    const account = `${namespace}:viewer`;
    const bound = ['--clusterrole=sdewan-viewer', `--serviceaccount=${account}`];
    await cluster.kubectl(['create', 'rolebinding', 'viewer', '-n', namespace, ...bound]);
    const as = `--as=system:serviceaccount:${account}`;
    const may = async (...what: string[]): Promise<string> => {
      const { stdout } = await cluster.kubectl(['auth', 'can-i', ...what, '-n', namespace, as], {
        allowFailure: true,
      });
      return stdout.trim();
    };
    expect(await may('list', 'firewallzones.batch.sdewan.akraino.org')).toBe('yes');
    for (const resource of [
      'secrets',
      'ipsecsites.batch.sdewan.akraino.org',
      'ipsechosts.batch.sdewan.akraino.org',
      'pods/log',
    ])
      expect([resource, await may('get', resource)]).toEqual([resource, 'no']);
  });
});

/** All pages that lead from the first, as far as they are about the namespace. */
const pagesFrom = async (
  first: URL,
  { cookie, of }: { cookie: string; of: string },
): Promise<ReadonlyMap<string, string>> => {
  const pages = new Map<string, string>();
  const paths = [first.pathname];
  for (const path of paths) {
    if (pages.has(path) || pages.size === MAX_PAGES) continue;
    const text = await (await fetch(new URL(path, first), { headers: { cookie } })).text();
    pages.set(path, text);
    for (const [, href = ''] of text.matchAll(/href="(\/[^"#]*)"/g)) {
      const link = href.replaceAll('&amp;', '&');
      if (link.includes(of) || link === '/events') paths.push(link);
    }
  }
  return pages;
};
