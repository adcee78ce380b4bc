/** What the API server says of objects in files before anything is written, or beside it. */
import * as z from 'zod';
import { checkMetadata, checkSpec, type Problem } from '#shared/compile/check.ts';
import type { KubeClient } from '#shared/kube/client.ts';
import {
  isConflict,
  isForbidden,
  isInvalid,
  isUnanswered,
  isUnauthorized,
  KubeError,
} from '#shared/kube/errors.ts';
import type { RuleObject } from '#shared/kube/objects.ts';
import { resourceName } from '#shared/kube/path.ts';
import { kindOf } from '#shared/resources/registry.ts';
import { atOnce } from '#shared/util/at-once.ts';
import { messageOf } from '#shared/runtime/errors.ts';
import { deployments } from '../../sources/workload.ts';
import { isAllowed } from '#shared/kube/access.ts';
import type { Lacking } from '../../views/rights.ts';
import type { CommandIo } from '../command.ts';
import { bodyOf, isCnfDeployment, resourceIn } from './files.ts';

type Asking = { client: KubeClient; signal: AbortSignal };

export const nameOf = ({ kind, metadata }: RuleObject): string => `${kind}/${metadata.name}`;

/** Admission names the reason at the end: only these two can end without a change of the rule. */
export const isOfOthers = ({ message }: KubeError): boolean =>
  OF_OTHERS.some((reason) => message.endsWith(`(${reason})`));
const OF_OTHERS = ['UnknownReference', 'InUse'];

/**
 * The warnings of the Deployment that the coordinator will make of a CNFDeployment: the CRD takes
 * any field of its template.
 */
export const warn = async (
  object: RuleObject,
  { client, io, signal }: Asking & { io: CommandIo },
): Promise<void> => {
  if (!isCnfDeployment(object)) return;
  const { name, namespace } = object.metadata;
  const body = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace } };
  const options = { dryRun: true, fieldValidation: 'Strict', signal } as const;
  try {
    await client.create(
      deployments,
      { ...body, spec: specSchema.parse(object.spec ?? {}) },
      options,
    );
  } catch (error) {
    // One of that name is no error: the coordinator puts it in its place.
    if (isInvalid(error) || isForbidden(error))
      io.say(`${nameOf(object)}: warning: spec.template: ${messageOf(error)}`);
    else if (!isConflict(error)) throw error;
  }
};

const specSchema = z.object({ selector: z.unknown(), template: z.unknown() }).partial();

/**
 * What the API server would not take, and what it cannot be asked. Admission only warns on a dry
 * run, so that its own checks are made here.
 */
export const refusalsOf = async (
  objects: readonly RuleObject[],
  { client, signal }: Asking,
): Promise<{ refused: string[]; lacking: Lacking[] }> => {
  const refused = new Map<RuleObject, string>();
  const lacking: Lacking[] = [];
  await atOnce(objects, AT_ONCE, async (object) => {
    const type = resourceIn(object);
    if (!type) return;
    const { name, namespace } = object.metadata;
    const patch = { type: 'apply', body: bodyOf(object) } as const;
    const problem = problemOf(object);
    if (problem) {
      refused.set(object, `${nameOf(object)}: ${problem.message}`);
      return;
    }
    try {
      await client.patch(type, { name, namespace }, { patch, dryRun: true, signal });
    } catch (error) {
      if (!(error instanceof KubeError) || isUnanswered(error) || isUnauthorized(error))
        throw error;
      if (isOfOthers(error)) return;
      const asked = { verb: 'patch', group: type.group, resource: type.plural, namespace };
      if (isForbidden(error) && !(await isAllowed(client, asked, signal)))
        lacking.push({ verb: 'patch', resource: resourceName(type), namespace });
      else refused.set(object, `${nameOf(object)}: ${messageOf(error)}`);
    }
  });
  return { refused: objects.flatMap((object) => refused.get(object) ?? []), lacking };
};

const AT_ONCE = 8;

const problemOf = (rule: RuleObject): Problem | undefined => {
  const kind = kindOf(rule.kind);
  const checked = kind && checkSpec(kind, rule.spec);
  const broken = checked && 'problem' in checked ? checked.problem : undefined;
  return kind && (checkMetadata(kind, rule) ?? broken);
};
