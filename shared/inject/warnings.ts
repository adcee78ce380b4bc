/** For who makes pods of a CNF: what of their template is allowed and seldom meant. */
import { PAUSED_ANNOTATION } from '../names.ts';
import { pauses } from './paused.ts';
import type { PodSpec, PodTemplate } from './pod.ts';

export const isOnHostNetwork = ({ hostNetwork }: PodSpec): boolean => hostNetwork === true;

export const templateWarnings = ({ metadata, spec }: PodTemplate): string[] => [
  ...(pauses(metadata?.annotations?.[PAUSED_ANNOTATION] ?? '')
    ? [
        `annotation ${PAUSED_ANNOTATION} of the pod template: new pods get no rules, and are not ready, until it is removed from them`,
      ]
    : []),
  ...(isOnHostNetwork(spec)
    ? [
        'hostNetwork of the pod template: OpenWRT configures the network of the node, all pods of a node share it, and Prometheus finds no port of the agent',
      ]
    : []),
];
