/**
 * Where rules are applied by the agent's passes, and what can be seen of it from outside: a real
 * device, or the simulator.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KERNEL_HELPER_PATH } from '#shared/inject/own-login-files.ts';
import { systemClock } from '#shared/runtime/clock.ts';
import type { Driver } from '../../../agent/openwrt/driver.ts';
import type { CommitConfirm } from '../../../agent/commit-confirm/commit-confirm.ts';
import type { PassDeps } from '../../../agent/reconcile/pass.ts';
import { createIcnDriver } from '../../../agent/openwrt/icn/driver.ts';
import { aclFor } from '../../../agent/openwrt/ubus/login/acl.ts';
import { HELPER_SCRIPT } from '../../../agent/openwrt/kernel/helper.ts';
import { kernelLines, LOOK } from '../../openwrt/checks/kernel.ts';
import { readUci, type DeviceSection } from '../../openwrt/checks/uci.ts';
import { ICN_PACKAGES, icnDriver, startIcn } from '../agent/support/icn-rest.ts';
import { startOpenwrt, type TestOpenwrt } from '../agent/support/openwrt.ts';
import { openPass, PACKAGES, type TestPass } from '../agent/support/pass.ts';
import { realTime } from '../agent/support/time.ts';
import type { NamedDevice } from './named-device.ts';

/** The ways to write, as recordings are named. */
export const PATHS = ['ubus-fast', 'ubus-staged', 'icn'] as const;
export type Path = (typeof PATHS)[number];

/** The agent's own login may do all at once; any other one stages. */
export const recordedPath = ({ api, user }: NamedDevice): Path => {
  if (api === 'icn') return 'icn';
  return user === 'sdewan' ? 'ubus-fast' : 'ubus-staged';
};

export type Stage = {
  pass: TestPass;
  /** One line per section and option of /etc/config. */
  files: () => string[];
  /**
   * One line per rule, route and setting (test/openwrt/checks/kernel.ts). Absent: it cannot be
   * looked into.
   */
  kernel?: () => string[];
  /** An administrator with an editor. */
  hands: {
    text: (uciPackage: string) => string;
    write: (uciPackage: string, text: string) => void;
  };
  /** The next agent of the OpenWRT, which has no file of the one before. */
  withoutState: () => Promise<TestPass>;
  leave: () => Promise<void>;
};

/** Rights of the login `sdewan`: those of drivers.md, which a login that an operator makes has. */
const RIGHTS = '/usr/share/rpcd/acl.d/sdewan-fast.json';

const FILES = [...new Set([...PACKAGES, ...ICN_PACKAGES])].sort();

const linesOf = (file: string, sections: readonly DeviceSection[]): string[] =>
  sections.flatMap(({ name, type, options }) => {
    const section = `${file}.${name ?? `@${type}[${String(options['name'] ?? '')}]`}`;
    return [
      `${section}=${type}`,
      ...Object.entries(options).map(([option, value]) => `${section}.${option}=${String(value)}`),
    ];
  });

const READ_FILES = FILES.map((name) => `echo '=== ${name}'; cat /etc/config/${name}`).join('\n');

const filesIn = (output: string): string[] =>
  output
    .split(/^=== /m)
    .slice(1)
    .flatMap((part) => {
      const end = part.indexOf('\n');
      return linesOf(part.slice(0, end), readUci(part.slice(end + 1)));
    });

/** An agent of the device, with its files in this folder. */
export const passOn = (
  { url, user, passwordFile, api }: NamedDevice,
  folder: string,
  commitConfirm?: (driver: Driver) => CommitConfirm,
  restart?: PassDeps['restart'],
): Promise<TestPass> => {
  const usernameFile = join(folder, 'username');
  writeFileSync(usernameFile, user);
  const target = { url, usernameFile, passwordFile };
  return openPass(
    { simulator: { url }, clock: realTime, folder, usernameFile, passwordFile },
    {
      ...(api === 'icn' && {
        driver: createIcnDriver({ target, reassertMs: 0, clock: systemClock }),
      }),
      ...(commitConfirm && { commitConfirm }),
      ...(restart && { restart }),
    },
  );
};

/**
 * `commitConfirmIn`: commit-confirm of an agent that has this folder. @throws Error for a device
 * that cannot be looked into
 */
export const onDevice = async (
  device: NamedDevice,
  commitConfirmIn?: (folder: string) => Promise<(driver: Driver) => CommitConfirm>,
): Promise<Stage> => {
  const { inside } = device;
  if (!inside) throw new Error('what is in the kernel cannot be seen without --inside');
  const isOwnLogin = recordedPath(device) === 'ubus-fast';
  // A pod mounts both there, for the agent's own login alone.
  if (isOwnLogin)
    inside(
      [
        `cat >${KERNEL_HELPER_PATH} <<'HELPER'\n${HELPER_SCRIPT}\nHELPER`,
        `chmod 755 ${KERNEL_HELPER_PATH}`,
        `cp ${RIGHTS} ${RIGHTS}.before`,
        `cat >${RIGHTS} <<'RIGHTS'\n${JSON.stringify(aclFor(PACKAGES))}\nRIGHTS\n`,
      ].join('\n'),
    );
  const folder = mkdtempSync(join(tmpdir(), 'sdewan-device-'));
  const { all, open } = passesIn(folder, async (own) =>
    passOn(device, own, await commitConfirmIn?.(own)),
  );
  return {
    pass: await open(),
    files: () => filesIn(inside(`${READ_FILES}\ntrue\n`)),
    kernel: () => kernelLines(inside(LOOK)),
    hands: {
      text: (name) => inside(`cat /etc/config/${name}`),
      write: (name, text) => inside(`cat >/etc/config/${name} <<'TEXT'\n${text}TEXT\n`),
    },
    withoutState: open,
    leave: async () => {
      await Promise.all(all.map(({ driver }) => driver.close()));
      if (isOwnLogin) inside(`rm -f ${KERNEL_HELPER_PATH}; mv ${RIGHTS}.before ${RIGHTS}\n`);
      rmSync(folder, { recursive: true });
    },
  };
};

/** Agents one after the other, each with a folder of its own in `folder`. */
const passesIn = (folder: string, openIn: (own: string) => Promise<TestPass>) => {
  const all: TestPass[] = [];
  const open = async (): Promise<TestPass> => {
    const pass = await openIn(mkdtempSync(join(folder, 'agent-')));
    all.push(pass);
    return pass;
  };
  return { all, open };
};

const started = (path: Path): Promise<TestOpenwrt> => {
  if (path === 'icn') return startIcn();
  return startOpenwrt({ ipsecScript: 'swanctl', login: path === 'ubus-fast' ? 'own' : 'stock' });
};

export const onSimulator = async (path: Path): Promise<Stage> => {
  const openwrt = await started(path);
  const { all, open } = passesIn(openwrt.folder, (folder) =>
    openPass({ ...openwrt, folder }, path === 'icn' ? { driver: icnDriver(openwrt) } : {}),
  );
  return {
    pass: await open(),
    hands: { text: openwrt.text, write: openwrt.write },
    withoutState: open,
    files: () =>
      FILES.flatMap((name) => linesOf(name, readUci(openwrt.simulator.store.text(name) ?? ''))),
    leave: async () => {
      await Promise.all(all.map(({ driver }) => driver.close()));
      await openwrt.stop();
    },
  };
};
