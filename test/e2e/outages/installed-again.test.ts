/**
 * The product removed with rules kept, installed again over CNFs whose agents have been running all
 * the time, and removed with the rules.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seedRules } from '../../openwrt/checks/seed-rules.ts';
import { createCnf } from '../../stack/cnf.ts';
import { installProduct } from '../../stack/install.ts';
import { applyManifest } from '../../stack/manifests.ts';
import { waitInSync } from '../../stack/operator.ts';
import { sdewan } from '../../stack/sdewan.ts';
import { e2eCluster } from '../cluster.ts';

const PURPOSE = 'cnf-1';

describe('rules that were kept', async () => {
  const cluster = await e2eCluster();
  const namespace = await cluster.createNamespace('installed-again');

  beforeAll(async () => {
    await createCnf(cluster, { namespace, purpose: PURPOSE, replicas: 2 });
    await applyManifest(cluster, namespace, 'seed-rules.yaml');
    await waitInSync(cluster, namespace, seedRules);
  });
  // The other files of this suite need it.
  afterAll(async () => {
    await installProduct(cluster);
    await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
  });

  it('are removed by the same agents when the product is installed again', async () => {
    const kept = await sdewan(cluster, 'uninstall', '--keep-rules', '--yes');
    expect(kept).toMatchObject({ code: 0 });
    await installProduct(cluster);
    const { code, said } = await sdewan(cluster, 'uninstall', '--yes');
    expect([code, said]).toEqual([0, expect.stringContaining('rules: deleted')]);
  });
});
