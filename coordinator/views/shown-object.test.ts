import { expect, it } from 'vitest';
import { createRedaction } from '#shared/protocol/redaction.ts';
import { secretsIn, shownLine, shownObject, valuesOfSecret } from './shown-object.ts';

const planted = (number: number): string => `planted-value-${number}`;
const PEM = `-----BEGIN PRIVATE KEY-----\n${planted(1)}\n-----END PRIVATE KEY-----`;
const SESSION = '0123456789abcdef0123456789abcdef';
const JWT = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJwbGFudGVkIn0.c2lnbmF0dXJl';

const rule = {
  apiVersion: 'batch.sdewan.akraino.org/v1alpha1',
  kind: 'IpsecSite',
  metadata: {
    name: 'site',
    annotations: {
      'kubectl.kubernetes.io/last-applied-configuration': `{"spec":{"x":"${planted(2)}"}}`,
      'objectset.rio.cattle.io/applied': planted(20),
      'kopf.zalando.org/last-handled-configuration': planted(21),
      note: `the key is ${planted(3)}`,
    },
  },
  spec: {
    pre_shared_key: planted(3),
    local_private_cert: planted(4),
    local_public_cert: PEM,
    shared_ca: planted(5),
    connections: [{ name: 'c', options: { password: planted(6) } }],
    remote: 'a.example',
  },
  status: { message: `refused ${planted(4)}`, session: SESSION },
};
const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'cnf-1-a', annotations: { token: planted(7), 'login/token': planted(19) } },
  spec: {
    nodeName: 'node-1',
    initContainers: [
      {
        name: 'sdewan-agent',
        image: 'sdewan-agent:1',
        env: [
          { name: 'SDEWAN_PURPOSE', value: 'cnf-1' },
          { name: 'SDEWAN_PASSWORD', value: planted(8) },
          { name: 'OTHER', value: planted(9) },
        ],
      },
    ],
    containers: [
      {
        name: 'sdewan',
        image: 'openwrt:1',
        command: ['start', `--with=${planted(10)}`],
        args: [planted(11)],
        env: [
          { name: 'HARMLESS', value: planted(12) },
          { name: 'DB_PASSWORD', value: planted(13) },
          { name: 'REFERRED', valueFrom: { secretKeyRef: { name: 'login', key: 'k' } } },
        ],
        lifecycle: { postStart: { exec: { command: [planted(14)] } } },
        livenessProbe: { exec: { command: ['check', planted(15)] } },
      },
    ],
  },
};
const cnfDeployment = {
  apiVersion: 'fleet.sdewan.akraino.org/v1alpha1',
  kind: 'CNFDeployment',
  metadata: { name: 'cnf-1' },
  spec: { template: { metadata: { labels: { sdewanPurpose: 'cnf-1' } }, spec: pod.spec } },
};
const secret = { data: { any: Buffer.from(planted(16)).toString('base64') } };

const shown = () => {
  const redaction = createRedaction();
  redaction.add([...secretsIn(rule), ...secretsIn(pod), ...valuesOfSecret(secret)]);
  const lines = [
    JSON.stringify({ msg: `refused ${planted(3)}`, authorization: planted(17), session: SESSION }),
    JSON.stringify({ err: { message: `of ${planted(13)}`, token: planted(18) } }),
    `no JSON, but ${planted(16)} and ${SESSION} and ${JWT} and ${PEM}`,
    `as base64 ${Buffer.from(planted(6)).toString('base64')}`,
  ];
  return [
    JSON.stringify(shownObject(rule, redaction)),
    JSON.stringify(shownObject(pod, redaction)),
    JSON.stringify(shownObject(cnfDeployment, redaction)),
    JSON.stringify(shownObject({ spec: { containers: [planted(11)] } }, redaction)),
    ...lines.map((line) => shownLine(line, redaction)),
  ].join('\n');
};

it('keeps nothing of what was planted', () => {
  const text = shown();
  for (let number = 1; number <= 19; number += 1) expect(text).not.toMatch(`${planted(number)}"`);
  expect(text).not.toContain('planted-value');
  for (const value of [SESSION, JWT, Buffer.from(planted(6)).toString('base64')])
    expect(text).not.toContain(value);
});

it('keeps what helps', () => {
  const text = shown();
  for (const kept of ['a.example', 'node-1', 'openwrt:1', 'SDEWAN_PURPOSE', '"cnf-1"', 'HARMLESS'])
    expect(text).toContain(kept);
  expect(text).toContain('"secretKeyRef":{"name":"login"');
});
