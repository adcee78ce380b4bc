/**
 * Writes beside what users ask for by annotations of CNFSets and CNFs an id of the request, and who
 * asks: nothing else tells that later. A policy refuses what was not written here.
 */
import { askedBeside, RESTART_ANNOTATION, ROLL_SET_ANNOTATION } from '#shared/names.ts';
import { own } from '#shared/util/own.ts';
import type { AdmissionRequest, JsonPatchOperation, ReviewVerdict } from './review.ts';

export const nameWhoAsks = ({
  object,
  oldObject,
  uid,
  userInfo,
}: AdmissionRequest): ReviewVerdict => {
  const { annotations: now = {} } = object?.metadata ?? {};
  const { annotations: before = {} } = oldObject?.metadata ?? {};
  const patchOf = (annotation: string): JsonPatchOperation[] => {
    const value = own(now, annotation);
    if (value === own(before, annotation)) return [];
    const beside = askedBeside(annotation);
    const path = `/metadata/annotations/${beside.replaceAll('/', '~1')}`;
    if (value !== undefined) return [{ op: 'add', path, value: `${uid} ${userInfo.username}` }];
    return own(now, beside) === undefined ? [] : [{ op: 'remove', path }];
  };
  const patch = [ROLL_SET_ANNOTATION, RESTART_ANNOTATION].flatMap(patchOf);
  return { allowed: true, warnings: [], patch };
};
