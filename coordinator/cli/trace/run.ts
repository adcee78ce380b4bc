import * as z from 'zod';
import type { UciSection } from '#shared/uci/model.ts';
import { parsePackage, UciSyntaxError } from '#shared/uci/parse.ts';
import { withCluster } from '../cluster/connect.ts';
import { gather, rightsOf } from '../cluster/facts.ts';
import { cnfNamed, namespaceOf } from '../cluster/scope.ts';
import { EXIT, UsageError, type CommandIo, type ExitCode, type Run } from '../command.ts';
import { readManifests } from '../manifest/read.ts';
import { formatSchema, formatted } from '../output/format.ts';
import { render, rulesIn } from '../render/render.ts';
import { networksGiven, remarkLine } from '../render/run.ts';
import { packetIn } from './packet.ts';
import { inCluster, offline, tracedView, type Traced } from './traced.ts';
import { traceText, type TraceAnswer } from './view.ts';

const optionsSchema = formatSchema.extend({
  filename: z.array(z.string()).default([]),
  networks: z.array(z.string()).optional(),
  firewall: z.string().optional(),
  in: z.string().optional(),
  out: z.string().optional(),
});

export const runTrace: Run = async ({ args: [name], options: given }, io, signal) => {
  const options = optionsSchema.parse(given);
  const packet = packetIn(given);
  const read = await readManifests(options.filename, io);
  if ('code' in read) return read.code;
  const { sources } = read;
  const networks = networksGiven(options.networks);
  const others = await administrators(options.firewall, io);
  const finish = (traced: Traced): ExitCode => {
    const view = tracedView(traced, { packet, incoming: options.in, out: options.out, others });
    io.out(formatted(options.output, { data: view, table: (isWide) => traceText(view, isWide) }));
    return codeOf(view.answer);
  };
  if (name === undefined) {
    for (const problem of render(sources, networks).problems) io.say(remarkLine(problem));
    return finish(offline(rulesIn(sources, networks)));
  }
  return withCluster({ options: given, io }, async ({ client, namespace: usual }) => {
    const namespace = namespaceOf(given, usual);
    const facts = await gather(client, { namespace, withPods: true }, signal);
    const changes = sources.length === 0 ? [] : rulesIn(sources, networks);
    if (sources.length > 0 && changes.length === 0)
      throw new UsageError('the files have no rules that can be read');
    const traced = inCluster(facts, cnfNamed(facts, name, namespace), { changes, networks });
    return finish({ ...traced, notKnown: [...rightsOf(facts.lacking), ...traced.notKnown] });
  });
};

/** @throws UsageError for what is no file of UCI */
const administrators = async (
  file: string | undefined,
  { readText }: CommandIo,
): Promise<readonly UciSection[] | undefined> => {
  if (file === undefined) return undefined;
  try {
    return parsePackage('firewall', await readText(file)).sections;
  } catch (error) {
    if (error instanceof UciSyntaxError) throw new UsageError(`${file}: ${error.message}`);
    throw error;
  }
};

const codeOf = ({ branches, isDecided }: TraceAnswer): ExitCode => {
  const verdict = branches[0]?.outcome.verdict;
  if (!isDecided || verdict === undefined || verdict === 'undecided') return EXIT.unknown;
  return verdict === 'accepted' ? EXIT.done : EXIT.no;
};
