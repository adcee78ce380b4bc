/**
 * Namespaces that go with the tests that made them: CNFs that are not looked at any more would slow
 * the files that come after.
 */
import { afterAll } from 'vitest';
import type { Cluster } from 'kind-test-harness';

/** To be called where vitest takes hooks: at the top of a file, or in `describe`. */
export const withOwnNamespaces = <C extends Cluster>(cluster: C): C => {
  const made: string[] = [];
  afterAll(async () => {
    if (made.length === 0) return;
    const command = ['delete', 'namespace', '--ignore-not-found', '--wait=false', ...made];
    await cluster.kubectl(command, { allowFailure: true });
  });
  return {
    ...cluster,
    createNamespace: async (prefix) => {
      const name = await cluster.createNamespace(prefix);
      made.push(name);
      return name;
    },
  };
};
