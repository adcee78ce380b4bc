/**
 * docs/messages.md: everything that the product says to people, from the code that says it, to be read as a whole. A text is listed where
 * people meet it; descriptions of fields, variables and metrics have pages of their own.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { constantsOf, isError, textsOf, type Constants, type Text } from './texts.ts';

const root = join(import.meta.dirname, '../..');

const CLI = 'coordinator/cli/';

type Message = Text & { file: string; program: string };
type Holds = (message: Message) => boolean;

const isIn =
  (...folders: string[]): Holds =>
  ({ file }) =>
    folders.some((folder) => file.startsWith(folder));
const isPartOf =
  (...names: string[]): Holds =>
  ({ within }) =>
    within.some((name) => names.includes(name));
const isOfError: Holds = (message) => {
  const {
    within: [use = ''],
  } = message;
  const isNamed = isError(use) || ['super', 'attempted', 'WatchSilence'].includes(use);
  return isNamed || isIn('shared/uci/', 'shared/kube/', 'shared/runtime/')(message);
};

/** On docs/kinds.md, configuration.md and metrics.md. */
const isDescription = isPartOf('describe', 'description', 'meaning', 'help', 'counter', 'gauge');
/** docs/status.md has the reasons; the others are words for programs. */
const isForPrograms: readonly Holds[] = [
  isPartOf('reasons', 'conditionReasons', 'icnStates', 'state', 'base', 'key', 'label'),
  isPartOf('cel', 'rule', 'celRule', 'headers', 'path', 'version', 'PLAIN', 'NOT_IN_FORCE'),
  isPartOf(
    'Set',
    'split',
    'shell',
    'fingerprintNow',
    'envTable',
    'ICN',
    'ANY_KEY',
    'text',
    'splitPem',
  ),
  isPartOf(
    'columns',
    'matchesAsText',
    'namesIn',
    'protocolFields',
    'encode',
    'filter',
    'includes',
    'indexOf',
  ),
  // Options, and what examples give.
  ({ file, text }) => file.startsWith(CLI) && /^--?[a-z]/.test(text),
  isPartOf('FW4', 'MWAN3', 'STOPPED', 'WITH_PORTS'),
  // A field of a log message, not the message.
  ({ log, within: [use = ''] }) => log?.keys.includes(use) === true,
  isIn(
    // docs/status.md has the cures.
    'coordinator/cli/cures.ts',
    'coordinator/dashboard/assets/',
    'agent/device/kernel/helper.ts',
    'shared/uci/format.ts',
    'shared/policy/table.ts',
    'agent/device/ubus/login/acl.ts',
    'agent/device/parts/package-rights.ts',
    'agent/device/kernel/helper.ts',
  ),
];

type Section = {
  title: string;
  about: string;
  columns: readonly [string, string];
  holds: Holds;
  /** What stands in the first column. */
  first: (message: Message) => string;
};

const reasonOf = ({ reason = '' }: Message): string => reason;
const programAnd = ({ program }: Message, word: string | undefined): string =>
  word === undefined ? program : `${program}, ${word}`;

/** Each command has a folder; what several share stands beside them. */
const commandOf = (file: string): string => {
  const [first = '', ...rest] = file.slice(CLI.length).split('/');
  if (/^(inject|rights)/.test(first) || first === 'manifest') return 'inject, uninject';
  return rest.length === 0 || SHARED.has(first) ? 'all' : first;
};
const SHARED = new Set(['cluster', 'output']);

/** A message stands in the first one that holds it; the page has them the other way round. */
const sections: readonly Section[] = [
  {
    title: 'Logs',
    about:
      'One JSON object a line: `msg` is the message, and the fields in parentheses stand beside it. `err` is an error, with its own words and those of its cause.',
    columns: ['program, level', 'message and fields'],
    holds: ({ log }) => log !== undefined,
    first: (message) => programAnd(message, message.log?.level),
  },
  {
    title: 'The command `sdewan`',
    about: 'On stderr; what `--help` prints, on stdout.',
    columns: ['command', 'text'],
    holds: isIn(CLI),
    first: ({ file }) => commandOf(file),
  },
  {
    title: 'Reports that the coordinator refuses',
    about: "In the coordinator's log under `report refused`, and in the agent's log.",
    columns: ['code', 'text'],
    holds: isIn('coordinator/reports/'),
    first: ({ within: [code = ''] }) => code,
  },
  {
    title: 'Admission and injection',
    about:
      'From `kubectl apply`, as a refusal or as a warning. What a field must be is in the next section.',
    columns: ['reason', 'text'],
    holds: isIn('coordinator/admission/', 'shared/inject/'),
    first: reasonOf,
  },
  {
    title: 'What a field must be',
    about:
      'From `kubectl apply`, and in the status with reason `InvalidSpec`, `UnsupportedByDriver` or one that begins with `Waiting`. The name of the field stands before it.',
    columns: ['reason', 'text'],
    holds: (message) => isIn('shared/resources/')(message) && !isOfError(message),
    first: reasonOf,
  },
  {
    title: 'Errors',
    about:
      'In `err` of a log message. What the agent could not do with OpenWRT also stands in the status of rules: what it tried, then why it failed.',
    columns: ['program', 'text'],
    holds: isOfError,
    first: ({ program }) => program,
  },
  {
    title: 'Messages of a status, and of Events',
    about:
      'In `message`, in `outOfSync` and in the conditions. An Event on a rule has the reason and the message of its condition.',
    columns: ['program, reason', 'text'],
    holds: () => true,
    first: (message) => programAnd(message, message.reason),
  },
];

/** Two words beside what is put in; one is enough in logs and in what a command prints. */
const isForPeople: Holds = (message) => {
  if (message.log !== undefined) return true;
  const words = message.text.replaceAll(/<[^<>]*>/g, '').match(/\p{L}{2,}/gu) ?? [];
  const needed = isIn(CLI)(message) ? 1 : 2;
  return message.text.includes(' ') && words.length >= needed;
};

const programOf = (file: string): string => {
  if (/^agent\/|^shared\/compile\//.test(file)) return 'agent';
  return file.startsWith('coordinator/') ? 'coordinator' : 'agent and coordinator';
};

const messages = (): Message[] => {
  const sources = globSync('{agent,coordinator,shared}/**/*.ts', { cwd: root })
    .filter((file) => !/\.test\.ts$|(^|\/)testing(\.ts$|\/)/.test(file))
    .map((file) => ({ file, source: readFileSync(join(root, file), 'utf8') }));
  const everywhere = unambiguous(sources.map(({ source }) => constantsOf(source)));
  return sources.flatMap(({ file, source }) =>
    textsOf(source, new Map([...everywhere, ...constantsOf(source)])).map((text) => ({
      ...text,
      file,
      program: programOf(file),
    })),
  );
};

const unambiguous = (all: readonly Constants[]): Constants => {
  const byName = Map.groupBy(
    all.flatMap((constants) => [...constants]),
    ([name]) => name,
  );
  const [...named] = byName.values();
  return new Map(
    named.flatMap(([first, ...others]) =>
      first && others.every(([, value]) => value === first[1]) ? [first] : [],
    ),
  );
};

const validationSchema = z.looseObject({
  message: z.string().optional(),
  messageExpression: z.string().optional(),
});
const policySchema = z.looseObject({
  spec: z.looseObject({ validations: z.array(validationSchema).default([]) }),
});

const policyTexts = (): string[] =>
  globSync('deploy/policies/*.yaml', { cwd: root })
    .flatMap((file) => parseAllDocuments(readFileSync(join(root, file), 'utf8')))
    .flatMap((document) => policySchema.safeParse(document.toJS()).data?.spec.validations ?? [])
    .flatMap(({ message, messageExpression }) => message ?? messageExpression ?? []);

/** As code, so that it is found as it stands in a log. */
const code = (text: string): string => {
  const fence = text.includes('`') ? '``' : '`';
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => `${fence}${line.replaceAll('|', String.raw`\|`).trimEnd()}${fence}`)
    .join('<br>');
};

const rowOf = (section: Section, message: Message): string => {
  const { text, log } = message;
  const fields = (log?.keys ?? []).map((key) => `\`${key}\``).join(', ');
  return `| ${section.first(message)} | ${code(text)}${fields && ` (${fields})`} |`;
};

const partOf = (section: Section, found: readonly Message[]): string[] => [
  `## ${section.title}`,
  '',
  section.about,
  '',
  `| ${section.columns.join(' | ')} |`,
  '|---|---|',
  ...new Set(found.map((message) => rowOf(section, message)).sort()),
  '',
];

export const messagesPage = (): string => {
  const found = messages().filter(
    (message) =>
      isForPeople(message) &&
      !isDescription(message) &&
      !isForPrograms.some((isOne) => isOne(message)),
  );
  const placed = Map.groupBy(found, (message) => sections.find(({ holds }) => holds(message)));
  return [
    '<!-- Generated by `npm run generate` from the texts in agent/, coordinator/, shared/ and deploy/policies/. Do not edit. -->',
    '# Everything that the product says',
    '',
    'For those who search for a message that they have met, and for those who write one: the list should read as if one person had written it.',
    'What stands in angle brackets is put in at run time, `a|b` is one of the two, and what stands in square brackets can be absent. What reasons mean and what to',
    'do is in [status](status.md). Descriptions of fields are in [kinds](kinds.md), of variables in [configuration](configuration.md), of metrics and alarms in [metrics](metrics.md).',
    '',
    ...sections.toReversed().flatMap((section) => partOf(section, placed.get(section) ?? [])),
    '## Policies of the API server',
    '',
    'They hold while the coordinator is away, too.',
    '',
    ...policyTexts().map((text) => `- ${code(text)}`),
    '',
  ].join('\n');
};
