/**
 * Webhook configurations that were replaced, and then applied again: they come without the CA, and
 * lose what is not in the file.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AGENTS_FINALIZER, PURPOSE_LABEL } from '#shared/names.ts';
import { listOf } from '../../stack/installation.ts';
import { firewallRules } from '../coordinator/rules.ts';
import { manifestsOf, webhookConfigurationOf } from './overlay.ts';
import { createFixture, type Fixture } from './fixture.ts';
import { eventually } from '../support/eventually.ts';

const isWebhookConfiguration = (manifest: object): boolean =>
  'kind' in manifest && String(manifest.kind).endsWith('WebhookConfiguration');

const WEBHOOKS = { mutatingwebhookconfiguration: 4, validatingwebhookconfiguration: 5 };

let fixture: Fixture;
let namespace: string;
beforeAll(async () => {
  fixture = await createFixture({ SDEWAN_CERTIFICATE_POLL_MS: '500' });
  namespace = await fixture.createNamespace();
});
afterAll(() => fixture.close());

/** Finalizers as the API server answers the create: the coordinator itself adds them only later. */
const finalizersOfNew = async (name: string): Promise<readonly string[] | undefined> => {
  const { metadata } = await fixture.client.create(firewallRules, {
    apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
    kind: 'FirewallRule',
    metadata: { name, namespace, labels: { [PURPOSE_LABEL]: 'cnf-1' } },
    spec: { src: '*', target: 'REJECT' },
  });
  return metadata.finalizers;
};

it('get the CA again, and the webhook adds the finalizer as before', async () => {
  let made = 0;
  const fresh = (): Promise<readonly string[] | undefined> =>
    finalizersOfNew(`rule-${(made += 1)}`);
  await eventually(fresh).toEqual([AGENTS_FINALIZER]);

  const { cluster, systemNamespace, url } = fixture;
  const manifests = await manifestsOf(cluster, { systemNamespace, url });
  const configurations = manifests.filter(isWebhookConfiguration);
  expect(configurations).toHaveLength(2);
  await cluster.kubectl(['replace', '-f', '-'], { stdin: listOf(configurations) });
  await cluster.kubectl(['apply', '-f', '-'], { stdin: listOf(manifests) });

  const name = webhookConfigurationOf(systemNamespace);
  const caOf = async (kind: string): Promise<string> =>
    (
      await fixture.kubectl(
        'get',
        kind,
        name,
        '-o',
        'jsonpath={.webhooks[*].clientConfig.caBundle}',
      )
    ).stdout;
  for (const [kind, webhooks] of Object.entries(WEBHOOKS))
    await eventually(async () => (await caOf(kind)).split(' ')).toHaveLength(webhooks);
  await eventually(fresh).toEqual([AGENTS_FINALIZER]);
  for (let index = 0; index < 20; index += 1) expect(await fresh()).toEqual([AGENTS_FINALIZER]);
});
