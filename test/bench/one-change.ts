/**
 * How long one changed firewall rule among many takes on a real device, from the driver's first call to the kernel, as `nft monitor`
 * sees it, and to the end: `node test/bench/one-change.ts --url U --inside CMD [--rules 1000] [--changes 15]`, where CMD starts a program
 * in the device. It uses the login `sdewan` of test/openwrt-device, and needs the device for itself.
 */
import { execSync, spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { KERNEL_HELPER_PATH } from '#shared/inject/own-login-files.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import { silentLogger } from '#shared/runtime/log.ts';

import { deltaOf } from '#shared/uci/delta.ts';
import type { UciSection } from '#shared/uci/model.ts';
import { KERNEL_RIGHTS } from '../../agent/device/kernel/calls.ts';
import { HELPER_SCRIPT } from '../../agent/device/kernel/helper.ts';
import { createUbusDriver } from '../../agent/device/ubus/driver.ts';
import { PACKAGES } from '../contract/agent/support/pass.ts';
import { ACL_GROUP } from '../../agent/device/ubus/login/acl.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    inside: { type: 'string' },
    rules: { type: 'string', default: '1000' },
    changes: { type: 'string', default: '15' },
  },
});
const { url = '', inside = '' } = values;
const NEVER = new AbortController().signal;
const PREFIX = 'sdewan_bench_';

const run = (input: string): string => execSync(`${inside} sh`, { input, encoding: 'utf8' });
const rights = JSON.stringify({ [ACL_GROUP]: { description: 'SD-EWAN agent', ...KERNEL_RIGHTS } });
const PREPARE = `cat >/usr/share/rpcd/acl.d/sdewan-kernel-test.json <<'END'
${rights}
END
cat >${KERNEL_HELPER_PATH} <<'END'
${HELPER_SCRIPT}
END
chmod 755 ${KERNEL_HELPER_PATH}
`;

const folder = mkdtempSync(path.join(tmpdir(), 'sdewan-bench-'));
const file = (name: string, text: string): string => {
  writeFileSync(path.join(folder, name), text, { mode: 0o600 });
  return path.join(folder, name);
};

/** When the kernel last told of a rule of nft that has come. */
let inKernelAt = 0;
const monitor = spawn(`${inside} nft monitor new rules`, {
  shell: true,
  stdio: ['ignore', 'pipe', 'inherit'],
});
monitor.stdout.on('data', () => {
  inKernelAt = performance.now();
});

const rule = (at: number, port: number): UciSection => ({
  name: `${PREFIX}${at}`,
  anonymous: false,
  type: 'rule',
  options: {
    name: `bench-${at}`,
    src: 'lan',
    proto: 'tcp',
    src_ip: `10.${at >> 8}.${at & 255}.0/24`,
    dest_port: String(port),
    target: 'ACCEPT',
  },
});

run(PREPARE);
const driver = createUbusDriver({
  packages: PACKAGES,
  clock: systemClock,
  log: silentLogger,
  target: {
    url,
    usernameFile: file('username', 'sdewan'),
    passwordFile: file('password', 'sdewan'),
  },
});
const isOurs = ({ name }: UciSection): boolean => name.startsWith(PREFIX);
type Took = { kernel: number; end: number };
const bring = async (desired: readonly UciSection[]): Promise<Took> => {
  const observed = (await driver.read(NEVER)).packages.get('firewall');
  if (observed === undefined) throw new Error('OpenWRT has no package firewall');
  const delta = deltaOf({ observed, desired, isOurs });
  const from = performance.now();
  const { outcome } = await driver.apply([delta], NEVER);
  if (outcome !== 'done') throw new Error(outcome);
  return { kernel: inKernelAt - from, end: performance.now() - from };
};

const rules = Array.from({ length: Number(values.rules) }, (_, at) => rule(at, 80));
try {
  await bring(rules);
  const took: Took[] = [];
  for (let change = 1; change <= Number(values.changes); change += 1) {
    const at = (change * 37) % rules.length;
    rules[at] = rule(at, 1000 + change);
    took.push(await bring(rules));
    await sleep(200);
  }
  const shown = (part: keyof Took): string => {
    const sorted = took.map((each) => each[part]).sort((a, b) => a - b);
    const at = (share: number): string =>
      (sorted[Math.floor(share * sorted.length)] ?? 0).toFixed(0);
    return `p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, most ${sorted.at(-1)?.toFixed(0)} ms`;
  };
  console.log(
    `${values.rules} rules, one changed: to the kernel ${shown('kernel')}; to the end ${shown('end')}; ` +
      `${driver.firewallWays?.()?.amended} of ${took.length} without a reload; load ${loadavg()[0]?.toFixed(1)}`,
  );
} finally {
  await bring([]);
  await driver.close();
  monitor.kill();
}
