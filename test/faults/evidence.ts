/**
 * What is left of a row that did not hold, for people who look into it: the next row, or the end of
 * the run, takes the installation away.
 */
import { cpSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { podsPath, ruleCollections } from '../stack/collections.ts';
import { SYSTEM_NAMESPACE } from '../stack/installation.ts';
import type { Fixture } from './fixture.ts';

/** The state of an OpenWRT's container: what it has, and how it came to it. */
const OF_DEVICE = ['etc/config', 'simulator/journal.jsonl'];

/** The folder that has it. What the API server does not answer is not there. */
export const keepEvidence = async (
  { cluster, namespace, targets }: Pick<Fixture, 'cluster' | 'namespace' | 'targets'>,
  row: string,
  broken: readonly string[],
): Promise<string> => {
  const folder = mkdtempSync(path.join(tmpdir(), `sdewan-fault-${row}-`));
  writeFileSync(path.join(folder, 'did-not-hold.txt'), `${broken.join('\n')}\n`);
  const copy = (from: string, ...to: readonly string[]): void => {
    if (existsSync(from)) cpSync(from, path.join(folder, ...to), { recursive: true });
  };
  for (const each of [namespace, SYSTEM_NAMESPACE])
    copy(path.join(cluster.logsDirectory, each), 'logs', each);
  const devices = await targets('openwrt').catch(() => []);
  for (const { pod, container } of devices) {
    const root = path.join(cluster.podDirectory(namespace, pod), 'containers', container, 'root');
    for (const each of OF_DEVICE) copy(path.join(root, each), 'devices', pod, path.basename(each));
  }
  await keepObjects(cluster, namespace, path.join(folder, 'objects')).catch(() => undefined);
  return folder;
};

const keepObjects = async (
  { api }: Fixture['cluster'],
  namespace: string,
  folder: string,
): Promise<void> => {
  const collections = [
    { kind: 'Pod', path: podsPath(namespace) },
    ...(await ruleCollections(api, namespace)),
  ];
  mkdirSync(folder);
  for (const { kind, path: from } of collections) {
    const list = await api.find(from);
    writeFileSync(path.join(folder, `${kind}.json`), JSON.stringify(list, undefined, 2));
  }
};
