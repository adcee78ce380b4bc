import { objectSchema } from '../objects.ts';

export const pods = { group: '', version: 'v1', plural: 'pods', kind: 'Pod', schema: objectSchema };
/** One of them, as an API server has it. */
export const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'p',
    namespace: 'ns',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: 'now',
  },
};
