import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../command.ts';
import { runCli } from '../testing.ts';
import { renderingSchema } from './render.ts';

const scene = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../../../test/golden/combinations', name), 'utf8');
const NETWORKS = 'ovn-priv-net=net0,ovn-net1=net1,ovn-net2=net2';

const rule = (kind: string, name: string, spec: string, more = ''): string =>
  `apiVersion: batch.sdewan.akraino.org/v1alpha1
kind: ${kind}
metadata:
  name: ${name}
  labels: {sdewanPurpose: cnf-1}
${more}spec:
${spec}`;
const ZONE = rule('FirewallZone', 'lan1', '  network: [ovn-net1]\n  input: ACCEPT\n');

const renderCli = (files: Record<string, string>, ...args: string[]) =>
  runCli(['render', ...Object.keys(files).flatMap((file) => ['-f', file]), ...args], { files });

describe('sdewan render', () => {
  it("comes to the sections of the product's own golden file", async () => {
    const { code, out, said } = await renderCli(
      { 'a.yaml': scene('seed.yaml') },
      '--networks',
      NETWORKS,
    );
    expect([code, said]).toEqual([EXIT.done, []]);
    const sections = (text: string) =>
      text
        .split(/\n\n|\n(?=package )/)
        .map((one) => one.trim())
        .sort();
    expect(sections(out)).toEqual(sections(scene('seed.uci')));
  });

  it('takes networks from the manifest of the CNF', async () => {
    const annotation = '{"interface": [{"name": "ovn-net1", "interface": "net7"}]}';
    const cnf = `apiVersion: apps/v1
kind: Deployment
metadata: {name: cnf-1}
spec:
  template:
    metadata:
      labels: {sdewanPurpose: cnf-1}
      annotations: {k8s.plugin.opnfv.org/nfn-network: '${annotation}'}
    spec: {containers: [{name: c}]}
`;
    const { code, out } = await renderCli({ 'cnf.yaml': cnf, 'zone.yaml': ZONE });
    expect(code).toBe(EXIT.done);
    expect(out).toBe(
      "package firewall\n\nconfig zone 'sdewan_zone_lan1'\n\toption name 'lan1'\n\tlist network 'net7'\n\toption input 'ACCEPT'\n\n",
    );
  });

  it.each([
    [
      'a value',
      ZONE.replace('input: ACCEPT', 'input: PERMIT'),
      /^a\.yaml:8:3: spec\.input: must be/,
    ],
    [
      'an unknown field',
      `${ZONE}  colour: red\n`,
      /^a\.yaml:9:3: spec\.colour: unknown to this version/,
    ],
    [
      'a missing field',
      rule('FirewallZone', 'z', '  input: ACCEPT\n'),
      /^a\.yaml:6:1: spec\.network: is required/,
    ],
    [
      'a network',
      ZONE.replace('ovn-net1', 'ovn-net9'),
      /^a\.yaml:7:13: spec\.network\[0\]: the CNF pod has no network ovn-net9; it has: ovn-net1/,
    ],
    [
      'a reference',
      rule('FirewallRule', 'r', '  src: lan9\n  proto: tcp\n  target: REJECT\n'),
      /^a\.yaml:7:3: spec\.src: waits for FirewallZone lan9, which is not in the input$/,
    ],
    [
      'the kind',
      ZONE.replace('FirewallZone', 'FirewalZone'),
      /^a\.yaml:2:1: kind: there is no FirewalZone; the nearest are FirewallZone, /,
    ],
    ['the version', ZONE.replace('v1alpha1', 'v1'), /^a\.yaml:1:1: apiVersion: must be batch/],
    [
      'the label',
      ZONE.replace('sdewanPurpose', 'purpose'),
      /^a\.yaml:5:3: metadata\.labels: needs the label sdewanPurpose/,
    ],
    [
      'the order',
      rule('FirewallZone', 'z', '  network: [ovn-net1]\n').replace(
        '  labels',
        '  annotations:\n    sdewan.akraino.org/order: first\n  labels',
      ),
      /^a\.yaml:6:5: metadata\.annotations\[sdewan\.akraino\.org\/order\]: must be a whole number$/,
    ],
    [
      'a name that stands there twice',
      `${ZONE}---\n${ZONE}`,
      /^a\.yaml:13:3: metadata\.name: FirewallZone lan1 stands above/,
    ],
    ['the syntax', `${ZONE}   bad\n  : [`, /^a\.yaml:\d+:\d+: not YAML: /],
  ])('says with its place that %s is wrong', async (_, text, words) => {
    const { code, said } = await renderCli({ 'a.yaml': text }, '--networks', 'ovn-net1=net1');
    expect(code).toBe(EXIT.no);
    expect(said).toEqual([expect.stringMatching(words)]);
  });

  it('says each of several problems of one rule at its own place', async () => {
    const text = ZONE.replace('input: ACCEPT', 'input: NO\n  output: NO');
    const { said } = await renderCli({ 'a.yaml': text }, '--networks', 'ovn-net1=net1');
    expect(said.map((line) => line.split(' ')[0])).toEqual(['a.yaml:8:3:', 'a.yaml:9:3:']);
  });

  it('prints what is right beside what is wrong, and finds places in Lists', async () => {
    const items = [ZONE, ZONE.replace('lan1', 'lan2').replace('ACCEPT', 'NO')]
      .map((text) => `- ${text.trimEnd().replaceAll('\n', '\n  ')}\n`)
      .join('');
    const { code, out, said } = await renderCli(
      { 'a.yaml': `kind: List\napiVersion: v1\nitems:\n${items}` },
      '--networks',
      'ovn-net1=net1',
    );
    expect(code).toBe(EXIT.no);
    expect(out).toContain("option name 'lan1'");
    expect(out).not.toContain('lan2');
    expect(said).toEqual([expect.stringMatching(/^a\.yaml:19:5: spec\.input/)]);
  });

  it('never prints what only the cluster knows, and says so', async () => {
    const files = {
      'a.yaml': [
        rule('CNFService', 's', '  fullname: web.example.com\n  port: "80"\n  dport: "8080"\n'),
        rule('CNFService', 't', '  fullname: 192.0.2.7\n  port: "81"\n  dport: "8081"\n'),
      ].join('---\n'),
    };
    const { code, out, said } = await renderCli(files);
    expect([code, said]).toEqual([
      EXIT.done,
      [
        expect.stringMatching(
          /^a\.yaml:7:3: spec\.fullname: .*web\.example\.com.* \(only the cluster can tell\)$/,
        ),
      ],
    ]);
    expect(out).toContain('192.0.2.7');
    expect(out).not.toContain('web.example.com');
  });

  it('does not print a value of a Secret, also where the Secret is in the input', async () => {
    const secret = `apiVersion: v1
kind: Secret
metadata: {name: vpn}
stringData: {psk: planted-1}
---
apiVersion: v1
kind: Secret
metadata: {name: vpn}
data: {psk: ${Buffer.from('planted-1').toString('base64')}}
`;
    const spec = `  remote: vpn.example.com
  authentication_method: psk
  crypto_proposal: [p-1]
  pre_shared_key_from: {name: vpn, key: psk}
  connections: [{name: fs, conn_type: tunnel, mode: route}]
`;
    const proposal =
      '  encryption_algorithm: aes128\n  hash_algorithm: sha256\n  dh_group: modp3072\n';
    const text = [
      secret,
      rule('IpsecProposal', 'p-1', proposal),
      rule('IpsecSite', 'site', spec),
    ].join('---\n');
    const { code, out, said } = await renderCli({ 'a.yaml': text });
    expect([code, said]).toEqual([EXIT.done, []]);
    expect(out).toContain("'key-psk-of-Secret-vpn'");
    // As most OpenWRTs have it.
    expect(out).toContain("config crypto_proposal 'p_1'");
    expect(out).toContain("list child 'fs'");
    expect(out).not.toContain('planted-1');
  });

  it('is JSON as its schema says', async () => {
    const { out } = await renderCli(
      { 'a.yaml': ZONE },
      '--networks',
      'ovn-net1=net1',
      '-o',
      'json',
    );
    const view: unknown = JSON.parse(out);
    expect(renderingSchema.parse(view)).toEqual(view);
    expect(view).toMatchObject({ cnfs: [{ cnf: 'cnf-1', packages: [{ name: 'firewall' }] }] });
  });

  it.each([
    [[], '-f FILE'],
    [['-f', '-', '--networks', 'net1'], 'must be NAME=INTERFACE'],
  ])('is used wrongly with %j', async (args, words) => {
    const { code, said } = await runCli(['render', ...args], { files: { '-': ZONE } });
    expect([code, said]).toEqual([EXIT.usage, [expect.stringContaining(words)]]);
  });
});
