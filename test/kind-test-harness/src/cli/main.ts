/** The command line: `npx kind-test-harness COMMAND`. */
import { parseArgs } from 'node:util';

import { listRecords } from '../record.ts';
import { BACKENDS, type Backend } from '../types.ts';
import { cleanCache } from './cache.ts';
import { down, loadImages, runKubectl, status } from './clusters.ts';
import { pickCluster } from './pick.ts';
import { up, upDetached } from './up.ts';

const USAGE = `usage: kind-test-harness COMMAND

  up            start a cluster and keep it up until Ctrl-C
    --backend ${BACKENDS.join('|')}    what runs the pods (default: process)
    --detach           return when it is up; end it with \`down\`
  down [ID]     end a cluster
  status        list the clusters of this user
  kubectl ...   the real kubectl, on the cluster started last in this folder
  load-image FILE...   load docker-archives into its node
  clean-cache   print what the cache holds and empty it

Of several clusters, --cluster ID (before the command's own arguments) or KIND_TEST_HARNESS_CLUSTER picks one.
`;

const main = async (argv: readonly string[]): Promise<number> => {
  const [command = '', ...rest] = argv;
  switch (command) {
    case 'up':
      return await runUp(rest);
    case 'status':
      return status(await listRecords());
    case 'clean-cache':
      return await cleanCache(await listRecords());
    case 'down':
    case 'kubectl':
    case 'load-image':
      return await runOnCluster(command, rest);
    default:
      process.stderr.write(USAGE);
      return command === 'help' || command === '--help' ? 0 : 2;
  }
};

const runUp = async (args: readonly string[]): Promise<number> => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      backend: { type: 'string', default: 'process' },
      detach: { type: 'boolean', default: false },
    },
  });
  const backend = BACKENDS.find((name): name is Backend => name === values.backend);
  if (!backend) throw new Error(`there is no backend ${values.backend}: ${BACKENDS.join(', ')}`);
  const others = args.filter((arg) => arg !== '--detach');
  if (values.detach) return await upDetached(['up', ...others]);
  return await up(backend);
};

const runOnCluster = async (
  command: 'down' | 'kubectl' | 'load-image',
  args: readonly string[],
): Promise<number> => {
  const [first, id, ...others] = args;
  const [wanted, rest] = first === '--cluster' ? [id, others] : [undefined, args];
  const named = command === 'down' ? (wanted ?? rest[0]) : wanted;
  const record = pickCluster(await listRecords(), {
    id: named,
    env: process.env,
    directory: process.cwd(),
    isForSure: command === 'down',
  });
  if (command === 'down') return await down(record);
  if (command === 'kubectl') return await runKubectl(record, rest);
  return await loadImages(record, rest);
};

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`kind-test-harness: ${message}\n`);
  process.exitCode = 1;
}
