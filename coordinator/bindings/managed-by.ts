/** How people and tools recognise what the coordinator keeps in other namespaces. */
export const MANAGED_BY = { 'app.kubernetes.io/managed-by': 'sdewan-coordinator' };
