/** What `sdewan inject` and `sdewan uninject` do with their files. The agent's defaults are those of the coordinator, from the same variables. */
import * as z from 'zod';
import { kinds } from '#shared/resources/registry.ts';
import { EnvError, readEnv } from '#shared/runtime/env.ts';
import { coordinatorEnvSchema, injectOptionsOf } from '../settings/env.ts';
import {
  EXIT,
  UsageError,
  optionsBy,
  type CommandIo,
  type ExitCode,
  type Given,
  type Run,
} from './command.ts';
import { fileProblem, isFileError } from './files.ts';
import { injectManifest, uninjectManifest, type ManifestResult } from './inject.ts';
import { ManifestError, NoDocumentsError, requireDocuments } from './manifest/documents.ts';
import { manifestProblem, nameOfFile } from './manifest/read.ts';

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
  return optionsBy(optionsSchema, options);
};

export const runInject: Run = async (given, io) => {
  const options = optionsOf(given);
  const { agentImage: image } = options;
  const defaults = injectOptionsOf(envOf(io.env, image), options.systemNamespace);
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

export const runUninject: Run = async (given, io) =>
  onFiles(optionsOf(given).filename, io, uninjectManifest);

/** @throws UsageError */
const envOf = (env: CommandIo['env'], image: string | undefined) => {
  try {
    return readEnv(coordinatorEnvSchema, {
      ...agentVariables(env),
      ...(image !== undefined && { SDEWAN_AGENT_IMAGE: image }),
    });
  } catch (error) {
    throw error instanceof EnvError ? new UsageError(error.message) : error;
  }
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
  let misused = false;
  for (const file of files) {
    const result = await onFile(file, readText, work);
    const name = nameOfFile(file);
    if ('error' in result) {
      say(manifestProblem(file, result.error));
      misused ||= result.error instanceof NoDocumentsError;
      refused = true;
      continue;
    }
    if ('unreadable' in result) {
      say(`${name}: ${result.unreadable}`);
      misused = true;
      continue;
    }
    const lines = 'problems' in result ? result.problems : result.notes;
    for (const line of lines) say(`${name}: ${line}`);
    if ('problems' in result) refused = true;
    else texts.push(result.text);
  }
  if (misused) return EXIT.usage;
  if (refused) return EXIT.no;
  out(joined(texts));
  return EXIT.done;
};

const onFile = async (
  file: string,
  readText: CommandIo['readText'],
  work: (text: string) => ManifestResult,
): Promise<ManifestResult | { error: ManifestError } | { unreadable: string }> => {
  try {
    const text = await readText(file);
    requireDocuments(text);
    return work(text);
  } catch (error) {
    if (error instanceof ManifestError) return { error };
    if (isFileError(error)) return { unreadable: fileProblem(error) };
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
