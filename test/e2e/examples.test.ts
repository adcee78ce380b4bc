/** The files of deploy/examples, applied as the README says. */
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { e2eCluster } from './cluster.ts';

const FOLDER = path.resolve(import.meta.dirname, '../../deploy/examples');

describe('the examples', async () => {
  const cluster = await e2eCluster();
  let namespace = '';

  beforeAll(async () => {
    namespace = await cluster.createNamespace('examples');
  });

  it('are accepted as they are, and come in sync', async () => {
    const { stderr } = await cluster.kubectl(['apply', '-n', namespace, '-f', FOLDER]);
    expect(stderr).toBe('');
    const named = ['sdewan', '-l', 'sdewanPurpose=cnf-1', '-n', namespace];
    const ready = ['wait', '--for=condition=Ready', '--timeout=500s', ...named];
    const { stdout } = await cluster.kubectl(ready);
    expect(stdout.match(/condition met$/gm)).toHaveLength(6);
  });
});
