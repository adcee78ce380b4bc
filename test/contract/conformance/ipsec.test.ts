/**
 * IPsec for real: two devices with a wire between them (test/openwrt/device/link.sh), a site on
 * each, and packets through the tunnel, with a shared key and with certificates. A change of
 * another site leaves the tunnel as it is, and it can be rekeyed after that.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { cr, deleted } from '../agent/support/pass.ts';
import { FOR_TUNNELS } from './tunnels.ts';
import { readKernelRecording, writeKernelRecording } from './kernel-recording.ts';
import { namedDevice, otherDevice, type NamedDevice } from './named-device.ts';
import { onDevice, type Stage } from './stage.ts';

const EXPECTED = {
  before: 'no answer',
  created: 'answered',
  'another site changed': 'answered, by the same tunnel',
  rekeyed: 'answered, by new keys',
  deleted: 'no answer',
};
type Seen = Record<string, string>;
const AUTHENTICATIONS = ['shared key', 'certificates'] as const;
type Authentication = (typeof AUTHENTICATIONS)[number];

/** Numbers of the two devices: 1 and 2. */
type Side = 1 | 2;
const otherOf = (side: Side): Side => (side === 1 ? 2 : 1);

const folder = mkdtempSync(join(tmpdir(), 'sdewan-ipsec-'));
afterAll(() => rmSync(folder, { recursive: true }));

const openssl = (...args: readonly string[]): void => {
  execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
};
const base64Of = (file: string): string => readFileSync(join(folder, file)).toString('base64');

/** A CA, and for each side a certificate of it. */
const makeCertificates = (): void => {
  const key = ['-newkey', 'rsa:2048', '-nodes'];
  const ca = ['-keyout', 'ca.key', '-out', 'ca.crt', '-subj', '/CN=ca', '-days', '2'];
  openssl('req', '-x509', ...key, ...ca);
  for (const name of ['1', '2']) {
    openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    const by = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2'];
    openssl('x509', '-req', '-in', `${name}.csr`, ...by, '-out', `${name}.crt`);
  }
};

const authentication = (how: Authentication, side: Side): object =>
  how === 'shared key'
    ? { authentication_method: 'psk', pre_shared_key: 'of-the-test-alone' }
    : {
        authentication_method: 'pubkey',
        local_public_cert: base64Of(`${side}.crt`),
        local_private_cert: base64Of(`${side}.key`),
        shared_ca: base64Of('ca.crt'),
      };

const site = (how: Authentication, side: Side): RuleObject =>
  cr('IpsecSite', 'site', {
    remote: `10.255.0.${otherOf(side)}`,
    ...authentication(how, side),
    crypto_proposal: ['prop'],
    connections: [
      {
        name: 'conn',
        conn_type: 'tunnel',
        mode: side === 1 ? 'start' : 'add',
        local_subnet: `10.${side}.0.0/24`,
        remote_subnet: `10.${otherOf(side)}.0.0/24`,
        crypto_proposal: ['prop'],
      },
    ],
  });

const anotherSite = (remote: string): RuleObject =>
  cr('IpsecSite', 'another', {
    remote,
    authentication_method: 'psk',
    pre_shared_key: 'another',
    crypto_proposal: ['prop'],
    connections: [{ name: 'other', conn_type: 'tunnel', mode: 'add' }],
  });

const PING = 'ping -n -c 1 -W 1 -I 10.1.0.1 10.2.0.1 2>&1\ntrue\n';
const TRIES = 20;

/** Answered in the end, or in the end not. */
const pinged = async (device: NamedDevice, wanted: string): Promise<string> => {
  for (let at = 1; ; at += 1) {
    const seen = device.inside?.(PING).includes(' bytes from ') ? 'answered' : 'no answer';
    if (seen === wanted || at === TRIES) return seen;
    await new Promise((resolve) => setTimeout(resolve, 400));
  }
};

/**
 * What distinguishes one tunnel from the next: the number of its IKE SA, and the keys' number
 * (SPI).
 */
const tunnelOf = (device: NamedDevice): { ike: string; spi: string } => {
  const listed = device.inside?.('swanctl --list-sas\n') ?? '';
  return {
    ike: /^site: (#\d+), ESTABLISHED/m.exec(listed)?.[1] ?? 'none',
    spi: /^ +in +(\w+),/m.exec(listed)?.[1] ?? 'none',
  };
};

const [first, second] = [namedDevice(), otherDevice()];
const pairs = first && second ? [{ first, second }] : [];

describe.each(pairs)('IPsec from $first.url to $second.url', ({ first, second }) => {
  const found: Record<string, Seen> = {};
  let [one, two]: Stage[] = [];
  beforeAll(async () => {
    makeCertificates();
    one = await onDevice(first);
    two = await onDevice(second);
  });
  afterAll(async () => {
    await one?.pass.run(FOR_TUNNELS.map(deleted));
    await two?.pass.run(FOR_TUNNELS.map(deleted));
    await one?.leave();
    await two?.leave();
    const recording = readKernelRecording('ubus-fast');
    if (process.env['UPDATE'] === '1' && recording)
      writeKernelRecording('ubus-fast', { ...recording, tunnels: found });
  });

  it.each(AUTHENTICATIONS)(
    'carries packets through a tunnel with %s, keeps it while another site changes, and rekeys it',
    async (how) => {
      const seen: Seen = {};
      const bring = async (stage: Stage | undefined, ...rules: readonly RuleObject[]) =>
        stage?.pass.run([...FOR_TUNNELS, ...rules]);
      await bring(one);
      await bring(two);
      seen['before'] = await pinged(first, 'no answer');

      await bring(two, site(how, 2));
      await bring(one, site(how, 1));
      seen['created'] = await pinged(first, 'answered');

      const made = tunnelOf(first);
      await bring(one, site(how, 1), anotherSite('203.0.113.9'));
      await bring(one, site(how, 1), anotherSite('203.0.113.10'));
      const left = tunnelOf(first);
      const isSame = left.ike === made.ike && left.spi === made.spi;
      seen['another site changed'] =
        `${await pinged(first, 'answered')}, by ${isSame ? 'the same tunnel' : 'another tunnel'}`;

      first.inside?.('swanctl --rekey --child conn; swanctl --rekey --ike site\ntrue\n');
      await expect.poll(() => tunnelOf(first).spi).not.toBe(left.spi);
      seen['rekeyed'] = `${await pinged(first, 'answered')}, by new keys`;

      // The side that waits first: its charon would go on with what is up.
      await bring(two, deleted(site(how, 2)));
      expect(tunnelOf(second)).toEqual({ ike: 'none', spi: 'none' });
      seen['deleted'] = await pinged(first, 'no answer');
      await bring(one, ...[site(how, 1), anotherSite('203.0.113.10')].map(deleted));
      expect(tunnelOf(first)).toEqual({ ike: 'none', spi: 'none' });
      found[how] = seen;
      expect(seen).toEqual(EXPECTED);
    },
    300_000,
  );
});

describe.each(first ? [] : AUTHENTICATIONS)('IPsec, as recorded: %s', (how) => {
  it('carried packets, stayed while another site changed, and was rekeyed', () => {
    expect(readKernelRecording('ubus-fast')?.tunnels?.[how]).toEqual(EXPECTED);
  });
});
