/** Columns of `kubectl get` that several resources have. */
import { PURPOSE_LABEL } from '../names.ts';
import type { Column } from './resource.ts';

export const PURPOSE_COLUMN: Column = {
  name: 'Purpose',
  type: 'string',
  jsonPath: `.metadata.labels.${PURPOSE_LABEL}`,
};

export const MESSAGE_COLUMN: Column = {
  name: 'Message',
  type: 'string',
  jsonPath: '.status.message',
  priority: 1,
};

/** The share that is as it should be, e.g. `.status.pods`. */
export const shareColumn = (name: string, path: string): Column => ({
  name,
  type: 'string',
  jsonPath: `${path}.summary`,
});

/** Why a rule is not in sync, or that it is. */
export const REASON_COLUMN: Column = {
  name: 'Reason',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
};

/** A field of the spec that tells most about an object of its kind, with `kubectl get -o wide`. */
export const specColumn = (name: string, path: string): Column => ({
  name,
  type: 'string',
  jsonPath: `.spec.${path}`,
  priority: 1,
});
