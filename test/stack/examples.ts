/**
 * deploy/examples for the simulator: with its image in place of a real OpenWRT's, and without the
 * init container, which would write this machine's /proc. As they are the examples are applied on a
 * real node (test/e2e/node/slow/example.test.ts).
 */
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { CNF_IMAGE } from './images.ts';

const EXAMPLES = path.resolve(import.meta.dirname, '../../deploy/examples');
const POD = ['spec', 'template', 'spec'];

/** A temporary folder with the same files. */
export const examplesOnSimulator = (): string => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-examples-'));
  for (const file of readdirSync(EXAMPLES)) {
    const documents = parseAllDocuments(readFileSync(path.join(EXAMPLES, file), 'utf8'));
    for (const document of documents.filter((one) => one.get('kind') === 'Deployment')) {
      document.deleteIn([...POD, 'initContainers']);
      document.setIn([...POD, 'containers', 0, 'image'], CNF_IMAGE);
    }
    writeFileSync(path.join(folder, file), documents.join('---\n'));
  }
  return folder;
};
