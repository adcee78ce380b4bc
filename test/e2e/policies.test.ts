/**
 * Each validation of each installed policy, on the real API server, with real tokens. RBAC is
 * opened wide for the time of the test, so that nothing but the policies can deny. All is tried
 * with dryRun=All, which stores nothing and goes through all of admission.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Agent, request } from 'undici';
import { loadKubeConfig, type KubeConfig } from '#shared/kube/config.ts';
import * as z from 'zod';
import { installedObjects, listOf } from '../stack/installation.ts';
import { kubeconfigOf } from '../stack/service-account.ts';
import { e2eCluster } from './cluster.ts';
import { casesOf, type Case } from './policy-cases.ts';
import {
  cnfOf,
  COORDINATOR,
  given,
  HOLDER,
  KEPT,
  NETWORK,
  OF_THE_TEST,
  patch,
  SILENT,
  SILENT_STATUS,
  STRANGER,
  SYSTEM,
  TENANT_OF_NETWORKS,
  tenantsRights,
  WAITING,
  type Attempt,
} from './policy-objects.ts';

const POLICY_KIND = 'ValidatingAdmissionPolicy';
/** Validations that were carried out, by policy. */
const JUDGED = 'apiserver_validating_admission_policy_check_total{';
const READS_KEYS = 'sdewan.akraino.org/default-service-account-reads-keys';

const policySchema = z.object({
  spec: z.object({
    validations: z.array(
      z.object({ message: z.string().optional(), messageExpression: z.string().optional() }),
    ),
  }),
});
const messageSchema = z.object({ message: z.string() });
const bindingSchema = z.object({
  spec: z.object({ policyName: z.string(), validationActions: z.array(z.string()) }),
});

describe('the installed policies', async () => {
  const cluster = await e2eCluster();
  const closed = await cluster.createNamespace('policies');
  const open = await cluster.createNamespace('policies-open');
  const cases = casesOf({ closed, open });
  const folder = await mkdtemp(path.join(tmpdir(), 'policies-'));
  const configs = new Map<Case['who'], KubeConfig>();
  const dispatcher = new Agent({
    connections: 8,
    connect: { ca: (await (await loadKubeConfig(cluster)).tls()).ca },
  });

  beforeAll(async () => {
    await cluster.kubectl(['annotate', 'namespace', closed, `${READS_KEYS}=false`]);
    await cluster.kubectl(['annotate', 'namespace', open, `${READS_KEYS}=true`]);
    for (const name of ['operator', 'tenant'])
      await cluster.kubectl(['create', 'serviceaccount', name, '-n', closed]);
    const accounts = [`${SYSTEM}:${COORDINATOR}`, `${closed}:operator`];
    const to = accounts.map((account) => `--serviceaccount=${account}`);
    const bind = [
      'create',
      'clusterrolebinding',
      OF_THE_TEST,
      '--clusterrole=cluster-admin',
      ...to,
    ];
    await cluster.kubectl(bind);
    // Without the annotation of a client-side apply, which policies look for.
    await cluster.kubectl(['apply', '--server-side', '-f', '-'], {
      stdin: listOf([...tenantsRights(closed), ...given({ closed, open })]),
    });
    const status = JSON.stringify({ status: SILENT_STATUS });
    const pod = ['pod', SILENT, '-n', closed, '--subresource=status', '--type=merge'];
    await cluster.kubectl(['patch', ...pod, '-p', status]);
    const uid = ['get', 'pod', SILENT, '-n', closed, '-o', 'jsonpath={.metadata.uid}'];
    const { stdout } = await cluster.kubectl(uid);
    const as = `--as=system:serviceaccount:${SYSTEM}:${COORDINATOR}`;
    await cluster.kubectl(['create', as, '-f', '-'], { stdin: listOf([cnfOf(closed, stdout)]) });
    await cluster.kubectl(['wait', '-n', closed, '--for=create', ...KEPT, '--timeout=500s']);
    const claimed = ['--for=jsonpath={.status.claimed}=1', `managednetwork/${NETWORK}`];
    await cluster.kubectl(['wait', ...claimed, '--timeout=500s']);
    for (const name of ['ending', 'held'])
      await cluster.kubectl(['delete', 'firewallzone', name, '-n', closed, '--wait=false']);
    for (const who of ['coordinator', 'operator', 'tenant'] as const) {
      const kubeconfig = path.join(folder, who);
      const namespace = who === 'coordinator' ? SYSTEM : closed;
      const account = who === 'coordinator' ? COORDINATOR : who;
      await writeFile(kubeconfig, await kubeconfigOf(cluster, namespace, account));
      configs.set(who, await loadKubeConfig({ kubeconfig }));
    }
  });
  afterAll(async () => {
    const roles = [OF_THE_TEST, TENANT_OF_NETWORKS];
    await cluster.kubectl(['delete', 'clusterrolebinding,clusterrole', ...roles], {
      allowFailure: true,
    });
    await cluster.kubectl([
      'delete',
      'pod',
      SILENT,
      STRANGER,
      HOLDER,
      WAITING,
      '-n',
      closed,
      '--grace-period=0',
      '--force',
    ]);
    await cluster.kubectl(['delete', 'managednetwork', NETWORK]);
    const finalizers = ['--type=merge', '-p', '{"metadata": {"finalizers": null}}'];
    await cluster.kubectl(['patch', 'firewallzone', 'ending', '-n', closed, ...finalizers]);
    await rm(folder, { recursive: true });
    await dispatcher.close();
  });

  /** What the API server says of it; empty: that it would be done. */
  const attempt = async (
    who: Case['who'],
    one: Attempt,
  ): Promise<{ code: number; said: string }> => {
    const { server = '', headers } = configs.get(who) ?? {};
    const url = new URL(one.path, server);
    url.searchParams.set('dryRun', 'All');
    const answer = await request(url, {
      dispatcher,
      method: one.method,
      headers: { ...(await headers?.()), 'content-type': one.type ?? 'application/json' },
      ...(one.body && { body: JSON.stringify(one.body) }),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await answer.body.text();
    const warnings = [answer.headers['warning'] ?? []].flat();
    const said =
      answer.statusCode < 300 ? warnings : [messageSchema.parse(JSON.parse(text)).message];
    return { code: answer.statusCode, said: said.join('\n') };
  };
  const tried = (of: 'denied' | 'allowed') =>
    cases.flatMap((each) =>
      Object.entries(each[of]).map(([what, one]) => ({ ...each, what, attempt: one })),
    );
  const deniedBy = ({ policy, message }: Case): string =>
    `ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: ${message}`;

  it.concurrent.each(tried('denied'))('$who cannot $what', async ({ attempt: one, ...each }) => {
    const { code, said } = await attempt(each.who, one);
    expect(said).toContain(deniedBy(each));
    expect(code).toBeGreaterThanOrEqual(400);
  });

  const opened = tried('denied').filter(
    ({ who, message }) => who === 'coordinator' || message.includes('needs the right to verb'),
  );
  it.concurrent.each(opened)(
    'let an operator with all rights do so: $what',
    async ({ attempt: one }) => {
      const { said } = await attempt('operator', one);
      // That a name is taken is said after the policies were asked, and what is tried only warns of
      // buckets, and of names of finalizers such as ICN's.
      expect(said).toMatch(
        /^$|^299 .* (?:of bucket type|a domain-qualified finalizer|no packet comes to it)|already exists/,
      );
    },
  );

  it.concurrent.each(tried('allowed'))('let $who do so: $what', async ({ who, attempt: one }) => {
    // The coordinator's webhook may warn of what the policies have nothing to do with.
    const { code, said } = await attempt(who, one);
    expect(code < 300 ? '' : said).toBe('');
  });

  it('have a binding that denies, and a case for each validation', async () => {
    const objects = await installedObjects(cluster);
    const bound = objects
      .filter(({ kind }) => kind === 'ValidatingAdmissionPolicyBinding')
      .map((object) => bindingSchema.parse(object).spec);
    const policies = objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
    for (const policy of policies) {
      const { name } = policy.metadata;
      expect(bound).toContainEqual({ policyName: name, validationActions: ['Deny'] });
      const { validations } = policySchema.parse(policy).spec;
      const messages = cases.filter((each) => each.policy === name).map(({ message }) => message);
      expect(messages).toEqual(validations.map((each) => expect.stringContaining(textOf(each))));
    }
    expect(new Set(cases.map(({ policy }) => policy))).toEqual(
      new Set(policies.map(({ metadata }) => metadata.name)),
    );
  });

  // Each validation costs the API server its values of both objects once more.
  it('have their conditions keep their validations from writes that happen all the time', async () => {
    const named = ['sdewan-policy-networks', 'sdewan-coordinator-rules'];
    // Copies, which no other test writes.
    const copies = (await installedObjects(cluster))
      .filter(({ kind, metadata }) => kind.startsWith(POLICY_KIND) && named.includes(metadata.name))
      .map(({ apiVersion, kind, metadata, ...object }) => {
        const name = `${metadata.name}-${closed}`;
        const bound = {
          policyName: name,
          validationActions: ['Audit'],
          matchResources: {
            namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': closed } },
          },
        };
        const spec = kind === POLICY_KIND ? z.looseObject({}).parse(object['spec']) : bound;
        return { apiVersion, kind, metadata: { name }, spec };
      });
    const stdin = listOf(copies);
    await cluster.kubectl(['apply', '-f', '-'], { stdin });
    const judged = async (): Promise<number[]> => {
      const { stdout } = await cluster.kubectl(['get', '--raw', '/metrics']);
      return named.map((name) =>
        stdout
          .split('\n')
          .filter((line) => line.startsWith(JUDGED) && line.includes(`"${name}-${closed}"`))
          .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0),
      );
    };
    const annotations = { 'sdewan.akraino.org/policy-networks': 'cluster' };
    const change = (dest_ip: string, dnatName: string): Attempt =>
      patch(['firewalldnat', dnatName, '-n', closed], { spec: { dest_ip } });
    const relabel = (metadata: object): Attempt =>
      patch(['pod', STRANGER, '-n', closed], { metadata });
    try {
      await vi.waitFor(
        async () => {
          await attempt('tenant', relabel({ annotations }));
          await attempt('coordinator', change('10.0.0.3', 'theirs'));
          expect((await judged()).every((count) => count > 0)).toBe(true);
        },
        { timeout: 300_000, interval: 200 },
      );
      const before = await judged();
      for (const [who, one] of [
        ['tenant', relabel({ labels: { role: 'client' } })],
        ['coordinator', change('10.0.0.4', 'marked')],
      ] as const)
        expect(await attempt(who, one)).toMatchObject({ code: 200 });
      expect(await judged()).toEqual(before);
    } finally {
      await cluster.kubectl(['delete', '-f', '-'], { stdin });
    }
  });
});

/** The message, or what stands before the first variable of its expression. */
const textOf = (validation: {
  message?: string | undefined;
  messageExpression?: string | undefined;
}): string =>
  validation.message ?? /"([^"]*)"/.exec(validation.messageExpression ?? '')?.[1] ?? 'no message';
