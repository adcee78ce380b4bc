import { describe, expect, it } from 'vitest';

import {
  clusterName,
  COMMANDS,
  createCommand,
  deleteCommand,
  killCommand,
  labelCommand,
  loadCommand,
  ownClusterIds,
} from './commands.ts';

describe('command lines of the kind backend', () => {
  it('a docker client without its daemon does not count', () => {
    expect(COMMANDS.engineAnswers).toContain('{{.Server.Version}}');
  });

  it('clusters bear the id of the harness, and only those are ours', () => {
    expect(clusterName('1a2b')).toBe('kth-1a2b');
    expect(ownClusterIds('kind\nkth-1a2b\nother-kth-x\nkth-ffff\n')).toEqual(['1a2b', 'ffff']);
    expect(ownClusterIds('No kind clusters found.\n')).toEqual([]);
  });

  it('a cluster is created with a kubeconfig of its own, and deleted by name', () => {
    expect(createCommand('1a2b', '/tmp/k').join(' ')).toBe(
      'kind create cluster --name=kth-1a2b --kubeconfig=/tmp/k --wait=180s',
    );
    expect(deleteCommand('1a2b').join(' ')).toBe('kind delete cluster --name=kth-1a2b');
  });

  it('the node gets the host name that the seed selects', () => {
    expect(labelCommand('1a2b', ['kubectl']).join(' ')).toBe(
      'kubectl label node kth-1a2b-control-plane kubernetes.io/hostname=ubuntu18 --overwrite',
    );
  });

  it('images are loaded from archives', () => {
    expect(loadCommand('1a2b', '/x/a.tar').join(' ')).toBe(
      'kind load image-archive /x/a.tar --name=kth-1a2b',
    );
  });

  it('a signal goes to the first process of a container of the node', () => {
    expect(killCommand('1a2b', 'containerd://abc', 'SIGKILL').join(' ')).toBe(
      'docker exec kth-1a2b-control-plane ctr --namespace=k8s.io tasks kill --signal=SIGKILL abc',
    );
  });
});
