/** The annotation that pauses the agent of a pod, as agent, webhooks and CLI read it. */
/**
 * A misspelt "true" counts as a pause, which does less harm than a change. `value`: '' where there
 * is no annotation, in the kubelet's file.
 */
export const pauses = (value: string): boolean => !['', 'false'].includes(value.trim());
