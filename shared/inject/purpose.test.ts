import { expect, it } from 'vitest';
import { PURPOSE_LABEL } from '../names.ts';
import type { PodTemplate } from './pod.ts';
import { withPurpose } from './purpose.ts';

const template = (metadata?: PodTemplate['metadata']): PodTemplate => ({
  ...(metadata && { metadata }),
  spec: { containers: [] },
});

it.each<[string, PodTemplate['metadata'], PodTemplate['metadata']]>([
  ['takes its workload’s', undefined, { labels: { [PURPOSE_LABEL]: 'cnf-1' } }],
  [
    'keeps what else it has',
    { labels: { app: 'cnf' }, annotations: { a: '1' } },
    { labels: { app: 'cnf', [PURPOSE_LABEL]: 'cnf-1' }, annotations: { a: '1' } },
  ],
  [
    'keeps its own',
    { labels: { [PURPOSE_LABEL]: 'other' } },
    { labels: { [PURPOSE_LABEL]: 'other' } },
  ],
])('gives a template that %s', (_name, before, after) => {
  expect(withPurpose(template(before), 'cnf-1')).toEqual(template(after));
});
