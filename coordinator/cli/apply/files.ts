/**
 * The rules and CNFDeployments in files, as the API server takes them. What is none, or not whole,
 * is refused before anything is written.
 */
import * as z from 'zod';
import { fieldOf } from '#shared/compile/check.ts';
import { objectSchema, type ResourceType, type RuleObject } from '#shared/kube/objects.ts';
import { apiVersionOf } from '#shared/kube/path.ts';
import { cnfDeploymentResource } from '#shared/resources/other-kinds/cnf-deployment.ts';
import { kinds, kindOf } from '#shared/resources/registry.ts';
import { EXIT, type CommandIo, type ExitCode } from '../command.ts';
import { readManifests, type ManifestSource } from '../manifest/read.ts';
import { pathOf, type Located } from '../manifest/positions.ts';
import { nearestNames } from '../nearest.ts';

const schema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string().min(1),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()).exactOptional(),
    annotations: z.record(z.string(), z.string()).exactOptional(),
  }),
});

/** `code`: of the command, which ends with it. `namespace`: of rules that name none. */
export const rulesInFiles = async (
  files: readonly string[],
  io: CommandIo,
  namespace: string,
): Promise<{ rules: RuleObject[] } | { code: ExitCode }> => {
  const read = await readManifests(files, io);
  if ('code' in read) return read;
  const problems: string[] = [];
  const rules = read.read.flatMap((source) =>
    source.objects.flatMap((object) => {
      const problem = problemsOf(source, object, problems);
      const data = objectIn(object, namespace, problem);
      if (!data) return [];
      const kind = resourceIn(data);
      if (!kind) return problem('kind', noRule(data));
      if (data.apiVersion !== apiVersionOf(kind))
        return problem('apiVersion', `must be ${apiVersionOf(kind)}`);
      const [unknown] = unknownIn(object.written, data.kind);
      return unknown === undefined ? [data] : problem(unknown, 'unknown to this version');
    }),
  );
  for (const line of problems) io.say(line);
  return problems.length === 0 ? { rules } : { code: EXIT.no };
};

const cnfDeployments: ResourceType = { ...cnfDeploymentResource, schema: objectSchema };

/** Undefined: it is not for us to apply. */
export const resourceIn = ({ kind }: Pick<RuleObject, 'kind'>): ResourceType | undefined =>
  kindOf(kind) ?? (isCnfDeployment({ kind }) ? cnfDeployments : undefined);

export const isCnfDeployment = ({ kind }: Pick<RuleObject, 'kind'>): boolean =>
  kind === cnfDeploymentResource.kind;

type Problem = (field: string, words: string) => [];

/** Adds `file:line:column: field: words`. */
const problemsOf =
  ({ file }: Pick<ManifestSource, 'file'>, { at }: Located, problems: string[]): Problem =>
  (field, words) => {
    const { line, column } = at(pathOf(field));
    problems.push(`${file}:${line}:${column}: ${field}: ${words}`);
    return [];
  };

/** As the API server would have it, but for what only that says. */
const objectIn = (
  { value }: Located,
  namespace: string,
  problem: Problem,
): RuleObject | undefined => {
  const { data, error } = schema.safeParse(value);
  if (!data) {
    const [issue] = error.issues;
    problem(issue?.path.join('.') || 'kind', issue?.message ?? 'is required');
    return undefined;
  }
  const metadata = {
    ...data.metadata,
    namespace: data.metadata.namespace ?? namespace,
    uid: '',
    resourceVersion: '',
    creationTimestamp: '',
  };
  return { ...data, metadata };
};

const some = z.unknown().optional();
const METADATA =
  'annotations creationTimestamp deletionGracePeriodSeconds deletionTimestamp finalizers generateName generation labels managedFields name namespace ownerReferences resourceVersion selfLink uid';
const metadataSchema = z.strictObject(
  Object.fromEntries(METADATA.split(' ').map((field) => [field, some])),
);

/** What the API server refuses also where it has no value. */
const unknownIn = (written: unknown, kind: string): string[] => {
  const { spec } = kindOf(kind) ?? cnfDeploymentResource;
  const shape = { apiVersion: some, kind: some, metadata: metadataSchema, spec, status: some };
  const issues = z.strictObject(shape).safeParse(written).error?.issues ?? [];
  return issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => fieldOf([...issue.path, key]))
      : [],
  );
};

const noRule = ({ apiVersion, kind }: { apiVersion: string; kind: string }): string => {
  const isOurs = kinds.some(({ group }) => apiVersion.startsWith(`${group}/`));
  const names = isOurs ? `the nearest are ${nearestNames(kind, kinds, (one) => one.kind)}. ` : '';
  return `${kind} is no kind of rule; ${names}\`kubectl apply\` and \`kubectl delete\` take it, and rules beside it`;
};

/** As it is sent: without what only the API server says. */
export const bodyOf = ({ metadata, status: _status, ...rest }: RuleObject): object => {
  const { name, namespace, labels, annotations } = metadata;
  return {
    ...rest,
    metadata: { name, namespace, ...(labels && { labels }), ...(annotations && { annotations }) },
  };
};
