/**
 * Each validation of each installed policy, on the real API server, with real tokens. RBAC is opened wide for the time of the test, so
 * that nothing but the policies can deny. All is tried with --dry-run=server, which stores nothing and goes through all of admission.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { KubectlResult } from 'kind-test-harness';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { installedObjects, listOf } from '../stack/installation.ts';
import { kubeconfigOf } from '../stack/service-account.ts';
import { e2eCluster } from './cluster.ts';
import { casesOf, type Case } from './policy-cases.ts';
import {
  COORDINATOR,
  given,
  KEPT,
  OF_THE_TEST,
  SILENT,
  SILENT_STATUS,
  STRANGER,
  SYSTEM,
  tenantsRights,
  type Attempt,
} from './policy-objects.ts';

const READS_KEYS = 'sdewan.akraino.org/default-service-account-reads-keys';

const policySchema = z.object({
  spec: z.object({
    validations: z.array(
      z.object({ message: z.string().optional(), messageExpression: z.string().optional() }),
    ),
  }),
});
const bindingSchema = z.object({
  spec: z.object({ policyName: z.string(), validationActions: z.array(z.string()) }),
});

describe('the installed policies', async () => {
  const cluster = await e2eCluster();
  const closed = await cluster.createNamespace('policies');
  const open = await cluster.createNamespace('policies-open');
  const cases = casesOf({ closed, open });
  const folder = await mkdtemp(path.join(tmpdir(), 'policies-'));
  const tokens = {
    coordinator: path.join(folder, 'coordinator'),
    operator: path.join(folder, 'operator'),
    tenant: path.join(folder, 'tenant'),
  };

  const grantBuckets = (grants: string): Promise<unknown> => {
    const at = ['configmap', 'sdewan-buckets', '-n', SYSTEM, '--type=merge'];
    return cluster.kubectl(['patch', ...at, '-p', JSON.stringify({ data: { grants } })]);
  };

  beforeAll(async () => {
    await grantBuckets('rule');
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
    await cluster.kubectl(['apply', '-f', '-'], {
      stdin: listOf([...tenantsRights(closed), ...given({ closed, open })]),
    });
    const status = JSON.stringify({ status: SILENT_STATUS });
    const pod = ['pod', SILENT, '-n', closed, '--subresource=status', '--type=merge'];
    await cluster.kubectl(['patch', ...pod, '-p', status]);
    await cluster.kubectl(['wait', '-n', closed, '--for=create', ...KEPT, '--timeout=60s']);
    for (const name of ['ending', 'held'])
      await cluster.kubectl(['delete', 'firewallzone', name, '-n', closed, '--wait=false']);
    await writeFile(tokens.coordinator, await kubeconfigOf(cluster, SYSTEM, COORDINATOR));
    for (const name of ['operator', 'tenant'] as const)
      await writeFile(tokens[name], await kubeconfigOf(cluster, closed, name));
  });
  afterAll(async () => {
    await grantBuckets('warn');
    await cluster.kubectl(['delete', 'clusterrolebinding,clusterrole', OF_THE_TEST], {
      allowFailure: true,
    });
    await cluster.kubectl([
      'delete',
      'pod',
      SILENT,
      STRANGER,
      '-n',
      closed,
      '--grace-period=0',
      '--force',
    ]);
    const finalizers = ['--type=merge', '-p', '{"metadata": {"finalizers": null}}'];
    await cluster.kubectl(['patch', 'firewallzone', 'ending', '-n', closed, ...finalizers]);
    await rm(folder, { recursive: true });
  });

  const attempt = (who: Case['who'], { args, object }: Attempt): Promise<KubectlResult> =>
    cluster.kubectl(['--kubeconfig', tokens[who], ...args, '--dry-run=server'], {
      allowFailure: true,
      ...(object && { stdin: JSON.stringify(object) }),
    });
  const tried = (of: 'denied' | 'allowed') =>
    cases.flatMap((each) =>
      Object.entries(each[of]).map(([what, one]) => ({ ...each, what, attempt: one })),
    );
  const deniedBy = ({ policy, message }: Case): string =>
    `ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: ${message}`;

  it.concurrent.each(tried('denied'))('$who cannot $what', async ({ attempt: one, ...each }) => {
    const { code, stderr } = await attempt(each.who, one);
    expect(stderr).toContain(deniedBy(each));
    expect(code).not.toBe(0);
  });

  it.concurrent.each(tried('denied').filter(({ who }) => who === 'coordinator'))(
    'an operator with the same rights can $what',
    async ({ attempt: one }) => {
      const { stderr } = await attempt('operator', one);
      // That a name is taken is said after the policies were asked, and what is tried only warns of buckets.
      expect(stderr).toMatch(/^$|^Warning: .* of bucket type|already exists/);
    },
  );

  it.concurrent.each(tried('allowed'))('$who can $what', async ({ who, attempt: one }) => {
    // The coordinator's webhook may warn of what the policies have nothing to do with.
    const stderr = expect.stringMatching(/^(Warning: .*\n)*$/);
    expect(await attempt(who, one)).toMatchObject({ code: 0, stderr });
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
});

/** The message, or what stands before the first variable of its expression. */
const textOf = (validation: {
  message?: string | undefined;
  messageExpression?: string | undefined;
}): string =>
  validation.message ?? /"([^"]*)"/.exec(validation.messageExpression ?? '')?.[1] ?? 'no message';
