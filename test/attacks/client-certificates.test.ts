/**
 * Who reads the path of a webhook calls it as the API server does. With the option, a coordinator
 * answers only who also shows a certificate of its CA. On an API server of its own, which is told
 * to show one.
 */
import 'reflect-metadata';
import {
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  PemConverter,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { startCluster, type Cluster } from 'kind-test-harness';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { firewallZone } from '#shared/resources/rules/firewall-zone.ts';
import { createCa, type Pair } from '../../coordinator/controllers/certificates/x509.ts';
import { createFixture, type Fixture } from '../integration/admission/fixture.ts';
import { eventually } from '../integration/support/eventually.ts';
import { zoneWith } from './largest.ts';

const DAY_MS = 86_400_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** A client's certificate. */
const issueClient = async (ca: Pair): Promise<Pair> => {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const der = PemConverter.decodeFirst(ca.key);
  const cert = await X509CertificateGenerator.create({
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + DAY_MS / 2),
    subject: 'CN=kube-apiserver',
    issuer: new X509Certificate(ca.cert).subjectName,
    publicKey: keys.publicKey,
    signingKey: await crypto.subtle.importKey('pkcs8', der, ALGORITHM, false, ['sign']),
    signingAlgorithm: ALGORITHM,
    extensions: [new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth])],
  });
  const key = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { cert: cert.toString('pem'), key: PemConverter.encode(key, 'PRIVATE KEY') };
};

/** As kube-apiserver reads it; JSON is YAML. */
const admissionConfiguration = (kubeConfigFile: string): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins: ['ValidatingAdmissionWebhook', 'MutatingAdmissionWebhook'].map((name) => ({
      name,
      configuration: {
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'WebhookAdmissionConfiguration',
        kubeConfigFile,
      },
    })),
  });
const kubeconfigWith = (cert: string, key: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    users: [{ name: '*', user: { 'client-certificate': cert, 'client-key': key } }],
  });

const variables = { ...process.env };
let directory: string;
let cluster: Cluster;
let fixture: Fixture;
let ours: Pair;
let another: Pair;
let anotherCa: Awaited<ReturnType<typeof createCa>>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'client-certificates-'));
  const at = (name: string): string => join(directory, name);
  const validity = { issuedAt: Date.now(), lifetimeMs: DAY_MS };
  const ca = await createCa('api-servers', validity);
  ours = await issueClient(ca);
  anotherCa = await createCa('api-servers', validity);
  another = await issueClient(anotherCa);
  await writeFile(at('ca.pem'), ca.cert);
  await writeFile(at('client.pem'), ours.cert);
  await writeFile(at('client.key'), ours.key);
  await writeFile(at('kubeconfig'), kubeconfigWith(at('client.pem'), at('client.key')));
  await writeFile(at('admission.yaml'), admissionConfiguration(at('kubeconfig')));
  cluster = await startCluster({
    apiServerArguments: [`--admission-control-config-file=${at('admission.yaml')}`],
  });
  Object.assign(process.env, cluster.env);
  fixture = await createFixture({ SDEWAN_WEBHOOK_CLIENT_CA_FILE: at('ca.pem') });
});
afterAll(async () => {
  await fixture.close();
  await cluster.stop();
  for (const name of Object.keys(cluster.env)) delete process.env[name];
  Object.assign(process.env, variables);
  await rm(directory, { recursive: true });
});

const configurationSchema = z.object({
  webhooks: z.array(z.object({ clientConfig: z.object({ url: z.string() }) })),
});

/** As his right to read webhook configurations shows it. */
const urlOfAWebhook = async (): Promise<string> => {
  const name = `validatingwebhookconfiguration/sdewan-coordinator-${fixture.systemNamespace}`;
  const { stdout } = await fixture.kubectl('get', name, '-o', 'json');
  const [first] = configurationSchema.parse(JSON.parse(stdout)).webhooks;
  return first?.clientConfig.url ?? '';
};

const post = async (shown: Partial<Pair>): Promise<number | undefined> => {
  const url = await urlOfAWebhook();
  const options = { method: 'POST', agent: false, rejectUnauthorized: false, ...shown };
  return new Promise((resolve, reject) => {
    const sent = request(url, options, ({ statusCode }) => {
      resolve(statusCode);
      sent.destroy();
    });
    sent.once('error', reject);
    sent.end('{}');
  });
};

it('answers the API server that shows its certificate', async () => {
  const namespace = await fixture.createNamespace();
  const made = await fixture.client.create(firewallZone, zoneWith(0)(namespace, 'lan'));
  expect(made.metadata.finalizers).toEqual([expect.stringContaining('sdewan')]);
  const wrong = { ...zoneWith(0)(namespace, 'wrong'), spec: { network: ['a'], input: 'WRONG' } };
  await expect(fixture.client.create(firewallZone, wrong)).rejects.toThrow('spec.input');
});

it('answers no other client, though it knows the path', async () => {
  expect(await post({})).toBe(404);
  expect(await post(another)).toBe(404);
  // His body is no review.
  expect(await post(ours)).toBe(400);
});

it('agents report without one', async () => {
  const { port } = new URL(fixture.url);
  const answer = await new Promise<number | undefined>((resolve, reject) => {
    const url = `https://127.0.0.1:${port}/v1/namespaces/a/pods/b/report`;
    const sent = request(url, { method: 'POST', agent: false, rejectUnauthorized: false });
    sent.once('response', ({ statusCode }) => resolve(statusCode)).once('error', reject);
    sent.end('{}');
  });
  expect(answer).toBe(401);
});

it('reads the file of CAs again: what is none leaves the old ones, and new ones count alone', async () => {
  const file = join(directory, 'ca.pem');
  const lines = fixture.log.length;
  await writeFile(file, 'half a file');
  await eventually(() => JSON.stringify(fixture.log.slice(lines))).toContain(
    'the CAs of clients cannot be read',
  );
  expect(await post(ours)).toBe(400);
  await writeFile(file, anotherCa.cert);
  await eventually(() => post(another)).toBe(400);
  expect(await post(ours)).toBe(404);
});
