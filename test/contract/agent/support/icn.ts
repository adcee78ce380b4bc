/**
 * What ICN's controller does to a CNF: the REST calls with which it configures one, in its order.
 */
import { ICN_FINALIZERS } from '#shared/names.ts';
import type { DeviceSection } from '../../../openwrt/checks/uci.ts';
import type { TestOpenwrt } from './openwrt.ts';

/** What it puts on most CRs that it has applied. */
export const ICN_FINALIZER = 'rule.finalizers.sdewan.akraino.org';
export const ofIcn = { finalizers: [ICN_FINALIZER] };

/**
 * What ICN's controller sends for three of its kinds, less the name; in an Mwan3Rule and an
 * IpsecProposal it is the spec as well.
 */
export const MWAN3_RULE = {
  policy: 'balance',
  src_ip: '10.0.0.0/24',
  dest_ip: '0.0.0.0/0',
  dest_port: '443',
  proto: 'tcp',
  family: 'ipv4',
  sticky: '0',
  timeout: '600',
};
export const PROPOSAL = {
  encryption_algorithm: 'aes128',
  hash_algorithm: 'sha256',
  dh_group: 'modp3072',
};
/** The address of a remote; REST has it as `gateway`, an IpsecSite as `remote`. */
export const REMOTE = {
  authentication_method: 'psk',
  pre_shared_key: 'not-a-secret',
  local_identifier: 'us',
  remote_identifier: 'them',
  crypto_proposal: ['prop1'],
  connections: [
    {
      name: 'conn1',
      conn_type: 'tunnel',
      mode: 'start',
      local_subnet: '10.1.0.0/24',
      remote_subnet: '10.2.0.0/24',
      crypto_proposal: ['prop1'],
    },
  ],
};
if (!ICN_FINALIZERS.includes(ICN_FINALIZER)) throw new Error('not one of the twelve');

/** `path` below /cgi-bin/luci/sdewan/. @throws Error when REST refuses */
export const icnPost = async (openwrt: TestOpenwrt, path: string, body: object): Promise<void> => {
  const url = `${openwrt.simulator.url}/cgi-bin/luci/sdewan/${path}`;
  const answer = await openwrt.clock.until(
    fetch(url, { method: 'POST', body: JSON.stringify(body) }),
  );
  const text = await answer.text();
  if (answer.status !== 201) throw new Error(`POST ${path}: ${answer.status} ${text}`);
};

/**
 * The texts of a package after each write since the `after`th entry of the journal, and who wrote.
 */
export const writesSince = (
  openwrt: TestOpenwrt,
  after: number,
): { package: string; call: string; text: string }[] =>
  openwrt.simulator
    .journal()
    .flatMap((entry) =>
      entry.event === 'write' && entry.seq > after && entry.by.call !== 'factory'
        ? [{ package: entry.package, call: entry.by.call, text: entry.text ?? '' }]
        : [],
    );

export const lastEntry = (openwrt: TestOpenwrt): number =>
  openwrt.simulator.journal().at(-1)?.seq ?? 0;

/** Sections whose name, or option `name`, is this. */
export const called = (sections: readonly DeviceSection[], name: string): DeviceSection[] =>
  sections.filter((section) => section.name === name || section.options['name'] === name);
