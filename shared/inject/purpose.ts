/** The purpose of a CNF's pods: the label that its rules bear, too. */
import { PURPOSE_LABEL } from '../names.ts';
import type { PodTemplate } from './pod.ts';

/**
 * With the workload's purpose, where the template has none of its own: without that label no rule
 * would reach the pods.
 */
export const withPurpose = (template: PodTemplate, purpose: string): PodTemplate => {
  const { metadata = {} } = template;
  if (metadata.labels?.[PURPOSE_LABEL] !== undefined) return template;
  return {
    ...template,
    metadata: { ...metadata, labels: { ...metadata.labels, [PURPOSE_LABEL]: purpose } },
  };
};
