/** The files of deploy/examples, applied as the README says. */
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { sdewan } from '../stack/sdewan.ts';
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
    const waited = await sdewan(cluster, 'wait', 'cnf-1', '--in-sync', '-n', namespace);
    expect(waited).toMatchObject({ code: 0, out: 'cnf-1: 6 rules in sync\n' });
  });
});
