import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { installedManifests } from '../../../deploy/installation/manifests.ts';
import { EXIT } from '../command.ts';
import { runCli } from '../testing.ts';
import { inOrderOfInstallation, withImages } from './objects.ts';

const printed = async (...args: string[]): Promise<{ kind: string }[]> => {
  const { code, out, said } = await runCli(['install', ...args]);
  expect([code, said]).toEqual([EXIT.done, []]);
  return parseAllDocuments(out).map((document) => document.toJS());
};

describe('what is installed', () => {
  it('is printed, what others need first and webhooks last', async () => {
    const kinds = (await printed()).map(({ kind }) => kind);
    expect(kinds).toHaveLength(installedManifests().length);
    expect(kinds[0]).toBe('Namespace');
    expect(kinds.slice(-2)).toEqual([
      'MutatingWebhookConfiguration',
      'ValidatingWebhookConfiguration',
    ]);
    expect(kinds.indexOf('ServiceAccount')).toBeGreaterThan(
      kinds.lastIndexOf('CustomResourceDefinition'),
    );
  });

  it('has the images that are asked for, and changes nothing else', async () => {
    const changed = await printed('--image=r.example/c:1', '--agent-image=r.example/a:1');
    const differing = (await printed()).flatMap((object, at) =>
      JSON.stringify(object) === JSON.stringify(changed[at]) ? [] : [changed[at]],
    );
    expect(differing).toMatchObject([
      {
        kind: 'Deployment',
        spec: { template: { spec: { containers: [{ image: 'r.example/c:1' }] } } },
      },
    ]);
    expect(JSON.stringify(differing)).toContain(
      '{"name":"SDEWAN_AGENT_IMAGE","value":"r.example/a:1"}',
    );
  });

  it('has the image of agents once, however often it is asked for', () => {
    const deployment = installedManifests().find(({ kind }) => kind === 'Deployment');
    if (!deployment) throw new Error('no Deployment');
    const once = withImages(deployment, { agentImage: 'a' });
    expect(withImages(once, { agentImage: 'a' })).toEqual(once);
  });

  it('has no kind without a place in the order', () => {
    const object = { apiVersion: 'v1', kind: 'Unheard', metadata: { name: 'a' } };
    expect(() => inOrderOfInstallation([object])).toThrow('Unheard');
  });

  it('is applied to no cluster that is not there', async () => {
    const { code, said } = await runCli(['install', '--apply', '--kubeconfig', '/nowhere']);
    expect([code, said.join()]).toEqual([EXIT.unknown, expect.stringContaining('no cluster')]);
  });
});
