/** The annotation that pauses the agent of a pod, as agent, webhooks and CLI read it. */
import { PAUSED_ANNOTATION } from '../names.ts';
import type { PodTemplate } from './pod.ts';

/** A misspelt "true" counts as a pause, which does less harm than a change. `value`: '' where there is no annotation, in the kubelet's file. */
export const pauses = (value: string): boolean => !['', 'false'].includes(value.trim());

/** For who makes pods that are paused from their beginning; undefined for all others. */
export const pausedWarning = ({ metadata }: PodTemplate): string | undefined =>
  pauses(metadata?.annotations?.[PAUSED_ANNOTATION] ?? '')
    ? `annotation ${PAUSED_ANNOTATION} of the pod template: new pods get no rules, and are not ready, until it is removed from them`
    : undefined;
