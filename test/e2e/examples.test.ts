/** The files of deploy/examples, as they are, applied as the README says, on the simulator. */
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { e2eCluster } from './cluster.ts';

const EXAMPLES = path.resolve(import.meta.dirname, '../../deploy/examples');

describe('the examples', async () => {
  const cluster = await e2eCluster();
  let namespace = '';

  beforeAll(async () => {
    namespace = await cluster.createNamespace('examples');
  });

  it('are accepted, and come in sync', async () => {
    const apply = ['apply', '-n', namespace, '-f', EXAMPLES];
    const { stderr } = await cluster.kubectl(apply);
    expect(stderr).toBe('');
    const named = ['sdewan', '-l', 'sdewanPurpose=cnf-1', '-n', namespace];
    const ready = ['wait', '--for=condition=Ready', '--timeout=500s', ...named];
    const { stdout } = await cluster.kubectl(ready);
    expect(stdout.match(/condition met$/gm)).toHaveLength(6);
  });
});
