/**
 * Where the commands of the documentation are run: a folder with the files that they name,
 * `kubectl` of the test's cluster, and `sdewan` of this clone.
 */
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Cluster } from 'kind-test-harness';
import { ROOT } from '../../../run/product-files.ts';
import { createCnf } from '../../../stack/cnf.ts';
import { observePods } from '../../../stack/observe.ts';
import { apply, waitForRules, waitInSync } from '../../../stack/operator.ts';
import { idOf, type Rule } from '../../../stack/rules.ts';
import { createShell, type Printed, type Shell } from './shell.ts';

/** As the pages call them. */
export const NAMESPACE = 'edge';
export const PURPOSE = 'cnf-1';

export type Stage = {
  cluster: Cluster;
  /** @param namespace of the kubeconfig */
  run: (command: string, namespace?: string) => Promise<Printed>;
  begin: Shell['begin'];
  /** Into the folder. */
  write: (file: string, text: string) => Promise<void>;
  kubectl: (...args: string[]) => Promise<string>;
  /** The rules of the CNF are these, and in sync but for those of `waiting`. */
  onlyRules: (rules: readonly Rule[], waiting?: readonly Rule[]) => Promise<void>;
  aPod: () => Promise<string>;
  close: () => Promise<void>;
};

export const createStage = async (cluster: Cluster): Promise<Stage> => {
  const folder = await mkdtemp(path.join(tmpdir(), 'sdewan-docs-'));
  for (const name of ['deploy', 'test'])
    await symlink(path.join(ROOT, name), path.join(folder, name));
  const config = await cluster.kubectl(['config', 'view', '--raw']);
  await writeFile(path.join(folder, '.kubeconfig'), config.stdout);
  const shell = createShell({
    cwd: folder,
    // Without a screen no browser is opened.
    env: { KUBECONFIG: path.join(folder, '.kubeconfig'), NO_COLOR: '1', DISPLAY: '' },
    programs: {
      kubectl: cluster.kubectlCommand,
      sdewan: [process.execPath, path.join(ROOT, 'coordinator/cli/main.ts')],
      npx: [],
    },
  });
  const run: Stage['run'] = (command, namespace = NAMESPACE) =>
    shell.run(
      `kubectl config set-context --current --namespace=${namespace} >/dev/null\n${command}`,
    );
  const kubectl: Stage['kubectl'] = async (...args) => (await cluster.kubectl(args)).stdout.trim();

  await kubectl('create', 'namespace', NAMESPACE);
  await createCnf(cluster, { namespace: NAMESPACE, purpose: PURPOSE, replicas: 2 });
  return {
    cluster,
    run,
    begin: shell.begin,
    write: (file, text) => writeFile(path.join(folder, file), text),
    kubectl,
    onlyRules: async (rules, waiting = []) => {
      const wanted = [...rules, ...waiting];
      const kept = new Set(wanted.map(idOf));
      const seen = await waitForRules(cluster, NAMESPACE, { what: 'the rules' }, () => true);
      const others = seen.filter(({ kind, metadata }) => !kept.has(`${kind}/${metadata.name}`));
      // Users first: a zone that is in use is not deleted.
      const names = others.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`);
      const inOrder = names.sort(
        (a, b) => Number(a.startsWith('firewallzone')) - Number(b.startsWith('firewallzone')),
      );
      for (const name of inOrder) await kubectl('delete', '-n', NAMESPACE, name, '--timeout=500s');
      await apply(cluster, NAMESPACE, ...wanted);
      await waitInSync(cluster, NAMESPACE, rules);
    },
    aPod: async () => {
      const [pod] = await observePods(cluster, NAMESPACE, PURPOSE);
      if (!pod) throw new Error('the CNF has no pod');
      return pod.name;
    },
    close: async () => {
      await kubectl('delete', 'namespace', NAMESPACE, 'shop', '--ignore-not-found', '--wait=false');
      await rm(folder, { recursive: true });
    },
  };
};
