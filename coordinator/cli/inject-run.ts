/**
 * What `sdewan inject` and `sdewan uninject` do with their files. The agent's defaults are those of
 * the coordinator, from the same variables.
 */
import * as z from 'zod';
import { kinds } from '#shared/resources/registry.ts';
import { EnvError, readEnv } from '#shared/runtime/env.ts';
import { coordinatorEnvSchema, injectOptionsOf } from '../env.ts';
import { EXIT, optionsBy, type CommandIo, type ExitCode, type Run } from './command.ts';
import { injectManifest, uninjectManifest, type ManifestResult } from './inject.ts';
import { requireDocuments } from './manifest/documents.ts';
import { readFiles } from './manifest/read.ts';
import { UsageError } from '../views/usage-error.ts';

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

export const runInject: Run = async (given, io) => {
  const options = optionsBy(optionsSchema, given.options);
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
  onFiles(optionsBy(optionsSchema, given.options).filename, io, uninjectManifest);

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
  io: CommandIo,
  work: (text: string) => ManifestResult,
): Promise<ExitCode> => {
  let refused = false;
  const read = await readFiles(files, io, (text, file) => {
    requireDocuments(text);
    const result = work(text);
    const lines = 'problems' in result ? result.problems : result.notes;
    for (const line of lines) io.say(`${file}: ${line}`);
    if ('text' in result) return result.text;
    refused = true;
    return '';
  });
  if ('code' in read) return read.code;
  if (refused) return EXIT.no;
  io.out(joined(read.read));
  return EXIT.done;
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
