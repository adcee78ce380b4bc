/** `sdewan inject` and `sdewan uninject`. The agent's defaults are those of the coordinator, from the same variables. */
import { Option } from 'commander';
import * as z from 'zod';
import { kinds } from '#shared/resources/registry.ts';
import { readEnv } from '#shared/runtime/env.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { coordinatorEnvSchema, injectOptionsOf } from '../env.ts';
import {
  EXIT,
  UsageError,
  type CommandFile,
  type CommandIo,
  type ExitCode,
  type Given,
  type Run,
} from './command.ts';
import { injectManifest, uninjectManifest, type ManifestResult } from './inject.ts';
import { ManifestError, NoDocumentsError, requireDocuments } from './manifest/documents.ts';
import { isFileError, manifestProblem, nameOfFile } from './manifest/read.ts';
import { filenameOption } from './options.ts';

const optionsSchema = z.object({
  filename: z.array(z.string(), {
    error: 'specify a manifest: -f FILE, or -f - for standard input',
  }),
  agentImage: z.string().optional(),
  systemNamespace: z.string().default('sdewan-system'),
  defaultReadsKeys: z.boolean().default(false),
  withoutWebhook: z.boolean().default(false),
  namespace: z.string().optional(),
});

/** @throws UsageError */
const optionsOf = ({ options }: Given) => {
  const { data, error } = optionsSchema.safeParse(options);
  if (!data) throw new UsageError(error.issues.map(({ message }) => message).join('; '));
  return data;
};

const runInject: Run = async (given, io) => {
  const options = optionsOf(given);
  const { agentImage: image } = options;
  const env = readEnv(coordinatorEnvSchema, {
    ...agentVariables(io.env),
    ...(image !== undefined && { SDEWAN_AGENT_IMAGE: image }),
  });
  const defaults = injectOptionsOf(env, options.systemNamespace);
  const keyKinds = options.defaultReadsKeys
    ? []
    : kinds.filter(({ holdsKeys }) => holdsKeys).map(({ kind }) => kind);
  const settings = {
    defaults,
    keyKinds,
    withoutWebhook: options.withoutWebhook,
    namespace: options.namespace,
  };
  return onFiles(options.filename, io, (text) => injectManifest(text, settings));
};

const runUninject: Run = async (given, io) =>
  onFiles(optionsOf(given).filename, io, uninjectManifest);

export const inject: CommandFile = {
  name: 'inject',
  summary: 'inject the agent into the CNFs of a manifest, as the webhook does',
  description:
    'Prints the manifest. Other defaults of the agent: variables SDEWAN_AGENT_... as for the coordinator; for one CNF, its annotations.',
  options: [
    filenameOption(),
    new Option('--agent-image <image>', 'default: SDEWAN_AGENT_IMAGE, or sdewan-agent:dev'),
    new Option('--system-namespace <name>', 'where the coordinator runs').default('sdewan-system'),
    new Option(
      '--default-reads-keys',
      "service account default of the CNF's namespace may read IPsec kinds",
    ),
    new Option(
      '--without-webhook',
      'the pods start without the coordinator; adds the RoleBindings that their agents need',
    ),
    new Option('-n, --namespace <name>', 'for these RoleBindings, where a CNF names none'),
  ],
  examples: [
    ['-f cnf.yaml | kubectl apply -f -', 'deploy a CNF with the agent in its manifest'],
    ['-f cnf.yaml --without-webhook -n edge', 'let its pods start while no coordinator runs'],
  ],
  run: runInject,
};

export const uninject: CommandFile = {
  name: 'uninject',
  summary: 'remove the agent from the CNFs of a manifest again',
  options: [filenameOption()],
  examples: [['-f cnf.yaml', 'print the manifest as it was before inject']],
  run: runUninject,
};

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
  let empty = false;
  for (const file of files) {
    const result = await onFile(file, readText, work);
    const name = nameOfFile(file);
    if ('error' in result) {
      say(manifestProblem(file, result.error));
      empty ||= result.error instanceof NoDocumentsError;
      refused = true;
      continue;
    }
    const lines = 'problems' in result ? result.problems : result.notes;
    for (const line of lines) say(`${name}: ${line}`);
    if ('problems' in result) refused = true;
    else texts.push(result.text);
  }
  if (empty) return EXIT.usage;
  if (refused) return EXIT.no;
  out(joined(texts));
  return EXIT.done;
};

const onFile = async (
  file: string,
  readText: CommandIo['readText'],
  work: (text: string) => ManifestResult,
): Promise<ManifestResult | { error: ManifestError }> => {
  try {
    const text = await readText(file);
    requireDocuments(text);
    return work(text);
  } catch (error) {
    if (error instanceof ManifestError) return { error };
    if (isFileError(error)) return { problems: [messageOf(error)] };
    throw error;
  }
};

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
