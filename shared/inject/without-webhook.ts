/**
 * The annotation of pods for which the API server does not ask the webhook:
 * `deploy/webhooks/mutating.yaml` reads it, and believes it only of pods that have the agent.
 */
import { WITHOUT_WEBHOOK_ANNOTATION } from '../names.ts';
import type { PodTemplate } from './pod.ts';

export const isWithoutWebhook = ({ metadata }: PodTemplate): boolean =>
  metadata?.annotations?.[WITHOUT_WEBHOOK_ANNOTATION] === 'true';

export const withoutWebhook = (template: PodTemplate): PodTemplate => ({
  ...template,
  metadata: {
    ...template.metadata,
    annotations: { ...template.metadata?.annotations, [WITHOUT_WEBHOOK_ANNOTATION]: 'true' },
  },
});

/** A template without the annotation comes back as it is. */
export const withWebhook = (template: PodTemplate): PodTemplate => {
  const { annotations, ...metadata } = template.metadata ?? {};
  if (annotations?.[WITHOUT_WEBHOOK_ANNOTATION] === undefined) return template;
  const { [WITHOUT_WEBHOOK_ANNOTATION]: _, ...others } = annotations;
  return {
    ...template,
    metadata: { ...metadata, ...(Object.keys(others).length > 0 && { annotations: others }) },
  };
};
