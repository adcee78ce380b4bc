/**
 * The files of deploy/examples as they are, with a real OpenWRT as the image of deploy/cnf-image.
 */
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildDeviceImage, whyNoDeviceImage } from '../../../deploy/images/device.ts';
import { nodeCluster } from '../cluster.ts';

const EXAMPLES = path.resolve(import.meta.dirname, '../../../../deploy/examples');
const because = whyNoDeviceImage();
if (because !== undefined)
  console.warn(`cannot run: the example on a real node with a real OpenWRT, since ${because}`);

describe.skipIf(because !== undefined)('the example, on a real node', async () => {
  const cluster = await nodeCluster();
  let namespace = '';
  beforeAll(async () => {
    await cluster.loadImages([await buildDeviceImage()]);
    namespace = await cluster.createNamespace('example');
  });

  it('has each of its rules ready on two pods that OpenWRT runs in', async () => {
    const { stderr } = await cluster.kubectl(['apply', '-n', namespace, '-f', EXAMPLES]);
    expect(stderr).toBe('');
    const named = ['sdewan', '-l', 'sdewanPurpose=cnf-1', '-n', namespace];
    const { stdout } = await cluster.kubectl(
      ['wait', '--for=condition=Ready', '--timeout=500s', ...named],
      { timeoutMs: 510_000 },
    );
    expect(stdout.match(/condition met$/gm)).toHaveLength(6);
  });
});
