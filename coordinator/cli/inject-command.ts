/** The arguments of `sdewan inject` and `sdewan uninject`. The agent's defaults are those of the coordinator, from the same variables. */
import { parseArgs } from 'node:util';
import { kinds } from '#shared/resources/registry.ts';
import { readEnv } from '#shared/runtime/env.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { coordinatorEnvSchema, injectOptionsOf } from '../env.ts';
import { EXIT, UsageError, type Command, type CommandIo, type ExitCode } from './command.ts';
import { injectManifest, uninjectManifest, type ManifestResult } from './inject.ts';
import { ManifestError } from './manifest/documents.ts';

export const injectUsage = `sdewan inject -f FILE      inject the agent into the CNFs of a manifest, as the webhook does
sdewan uninject -f FILE    remove the agent again
  -f, --filename FILE      YAML or JSON; - for standard input; can be repeated
  --agent-image IMAGE      default: SDEWAN_AGENT_IMAGE, or sdewan-agent:dev
  --system-namespace NAME  where the coordinator runs; default: sdewan-system
  --default-reads-keys     service account default of the CNF's namespace may read IPsec kinds
  --without-webhook        the pods start without the coordinator; adds the RoleBindings that their agents need
  -n, --namespace NAME     for these RoleBindings, where a CNF names none
Other defaults of the agent: variables SDEWAN_AGENT_... as for the coordinator; for one CNF, its annotations.
`;

const optionsOf = (args: readonly string[]) => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      filename: { type: 'string', short: 'f', multiple: true },
      'agent-image': { type: 'string' },
      'system-namespace': { type: 'string', default: 'sdewan-system' },
      'default-reads-keys': { type: 'boolean', default: false },
      'without-webhook': { type: 'boolean', default: false },
      namespace: { type: 'string', short: 'n' },
    },
  });
  const { filename: files } = values;
  if (!files) throw new UsageError('specify a manifest: -f FILE, or -f - for standard input');
  return { ...values, files };
};

export const runInject: Command = async (args, io) => {
  const options = optionsOf(args);
  const image = options['agent-image'];
  const env = readEnv(coordinatorEnvSchema, {
    ...agentVariables(io.env),
    ...(image !== undefined && { SDEWAN_AGENT_IMAGE: image }),
  });
  const defaults = injectOptionsOf(env, options['system-namespace']);
  const keyKinds = options['default-reads-keys']
    ? []
    : kinds.filter(({ holdsKeys }) => holdsKeys).map(({ kind }) => kind);
  const settings = {
    defaults,
    keyKinds,
    withoutWebhook: options['without-webhook'],
    namespace: options.namespace,
  };
  return onFiles(options.files, io, (text) => injectManifest(text, settings));
};

export const runUninject: Command = async (args, io) =>
  onFiles(optionsOf(args).files, io, uninjectManifest);

const agentVariables = (env: CommandIo['env']): Record<string, string | undefined> =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name.startsWith('SDEWAN_AGENT_')));

/** All or nothing: what is printed goes to `kubectl apply`. */
const onFiles = async (
  files: readonly string[],
  { readText, out, say }: CommandIo,
  work: (text: string) => ManifestResult,
): Promise<ExitCode> => {
  const texts: string[] = [];
  let refused = false;
  for (const file of files) {
    const result = await onFile(file, readText, work);
    const lines = 'problems' in result ? result.problems : result.notes;
    for (const line of lines) say(`${file === '-' ? 'standard input' : file}: ${line}`);
    if ('problems' in result) refused = true;
    else texts.push(result.text);
  }
  if (refused) return EXIT.refused;
  out(joined(texts));
  return EXIT.done;
};

const onFile = async (
  file: string,
  readText: CommandIo['readText'],
  work: (text: string) => ManifestResult,
): Promise<ManifestResult> => {
  try {
    return work(await readText(file));
  } catch (error) {
    if (error instanceof ManifestError || isFileError(error))
      return { problems: [messageOf(error)] };
    throw error;
  }
};

const isFileError = (error: unknown): boolean => error instanceof Error && 'syscall' in error;

/** As one stream of documents. */
const joined = (texts: readonly string[]): string =>
  texts
    .map((text, index) => {
      const isLast = index === texts.length - 1;
      return isLast || text.endsWith('\n') ? text : `${text}\n`;
    })
    .reduce(
      (all, text) => (all === '' || text.startsWith('---') ? all + text : `${all}---\n${text}`),
      '',
    );
