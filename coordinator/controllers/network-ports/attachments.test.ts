import { describe, expect, it } from 'vitest';
import type { KubeClient } from '#shared/kube/client.ts';
import { KubeError } from '#shared/kube/errors.ts';
import { parseAnswer } from '#shared/kube/request.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { createAttachments } from './attachments.ts';

const { signal } = new AbortController();

const lacksOf = async (answer: unknown): Promise<string | undefined> => {
  const get: KubeClient['get'] = async ({ schema }) => {
    if (answer instanceof KubeError) throw answer;
    return parseAnswer('get attachment', JSON.stringify(answer), schema);
  };
  const attachments = createAttachments({ get }, systemClock);
  await attachments.read('edge/a', signal);
  return attachments.lacks('edge/a');
};
const withConfig = (config: unknown) => ({
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: { namespace: 'edge', name: 'a', uid: 'a', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { config },
});
const refusal = (status: number, reason: string) =>
  new KubeError('get attachment', reason, { status, reason });

describe('an attachment', () => {
  it.each<[string, unknown, string]>([
    ['takes both', withConfig('{"capabilities":{"ips":true,"mac":true}}'), 'nothing'],
    [
      'takes both by two of its plugins',
      withConfig('{"plugins":[{"capabilities":{"ips":true}},{"capabilities":{"mac":true}}]}'),
      'nothing',
    ],
    [
      'declares one',
      withConfig('{"capabilities":{"ips":true}}'),
      'does not declare capability mac',
    ],
    ['is no JSON', withConfig('{'), 'does not declare capability ips and capability mac'],
    ['is gone', refusal(404, 'NotFound'), 'is not there'],
    [
      'is forbidden',
      refusal(403, 'Forbidden'),
      'cannot be read by the coordinator: get attachment',
    ],
    [
      'is longer than any real one',
      withConfig(' '.repeat(65_537)),
      'cannot be read by the coordinator: get attachment: unexpected answer: spec.config',
    ],
    ['is no text', withConfig({}), 'unexpected answer: spec.config'],
  ])('has what it lacks in words where it %s', async (_, answer, words) => {
    expect((await lacksOf(answer)) ?? 'nothing').toContain(words);
  });

  it('has none where the API server gives no answer, which says nothing of the attachment', async () => {
    await expect(lacksOf(refusal(0, 'Timeout'))).rejects.toThrow('Timeout');
  });
});
