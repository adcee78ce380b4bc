/**
 * The files of deploy/examples, applied as the README says, on the simulator: in place of the image,
 * and without the init container, which would write this machine's /proc. As they are they are
 * applied on a real node (test/e2e-node/slow/example.test.ts).
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import { e2eCluster } from './cluster.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../deploy/examples');

const POD = ['spec', 'template', 'spec'];
const onSimulator = (): string => {
  const documents = parseAllDocuments(readFileSync(`${FOLDER}/cnf.yaml`, 'utf8'));
  for (const document of documents.filter((one) => one.get('kind') === 'Deployment')) {
    document.deleteIn([...POD, 'initContainers']);
    document.setIn([...POD, 'containers', 0, 'image'], 'integratedcloudnative/openwrt:dev');
  }
  return documents.join('---\n');
};

describe('the examples', async () => {
  const cluster = await e2eCluster();
  let namespace = '';

  beforeAll(async () => {
    namespace = await cluster.createNamespace('examples');
  });

  it('are accepted as they are, and come in sync', async () => {
    const rules = await cluster.kubectl(['apply', '-n', namespace, '-f', `${FOLDER}/rules.yaml`]);
    const cnf = await cluster.kubectl(['apply', '-n', namespace, '-f', '-'], {
      stdin: onSimulator(),
    });
    expect([rules.stderr, cnf.stderr]).toEqual(['', '']);
    const named = ['sdewan', '-l', 'sdewanPurpose=cnf-1', '-n', namespace];
    const ready = ['wait', '--for=condition=Ready', '--timeout=500s', ...named];
    const { stdout } = await cluster.kubectl(ready);
    expect(stdout.match(/condition met$/gm)).toHaveLength(6);
  });
});
