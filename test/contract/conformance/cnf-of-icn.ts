/**
 * A CNF on which ICN's REST and the agent meet, a device of ICN or the simulator, and what is seen
 * of it while something happens.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { systemClock } from '#shared/runtime/clock.ts';
import { createIcnDriver } from '../../../agent/openwrt/icn/driver.ts';
import { aclFor } from '../../../agent/openwrt/ubus/login/acl.ts';
import { kernelLines } from '../../openwrt/checks/kernel.ts';
import { readUci, type DeviceSection } from '../../openwrt/checks/uci.ts';
import { icnDriver, startIcn } from '../agent/support/icn-rest.ts';
import { lastEntry } from '../agent/support/icn.ts';
import { startOpenwrt, type TestOpenwrt } from '../agent/support/openwrt.ts';
import { openPass, PACKAGES, type TestPass } from '../agent/support/pass.ts';
import { realTime } from '../agent/support/time.ts';
import type { NamedDevice } from './named-device.ts';

/** How the agent reaches it. */
export type Way = 'its own login' | 'a login without file rights' | "ICN's REST";

/**
 * At one moment. `files`: sections by package. `kernel`: one line for each rule, route and setting.
 */
export type Look = { files: Readonly<Record<string, DeviceSection[]>>; kernel: readonly string[] };

export type CnfOfIcn = {
  pass: TestPass;
  /** The driver of ICN's REST. */
  rest: (method: string, path: string, body?: object) => Promise<{ status: number; json: unknown }>;
  look: () => Promise<Look>;
  /**
   * What was seen while something happened: on the simulator after each write, on a device as often
   * as one can look.
   */
  during: (work: () => Promise<unknown>) => Promise<Look[]>;
  /** What services were asked for so far, such as `firewall reload`. */
  actions: () => Promise<string[]>;
  leave: () => Promise<void>;
};

const FILES: readonly string[] = ['firewall', 'mwan3', 'ipsec', 'network'];

/** A reload by procd, of the few rules here, is over by then. */
const PROCD_MS = 1_000;

const started = (way: Way): Promise<TestOpenwrt> =>
  way === "ICN's REST"
    ? startIcn()
    : startOpenwrt({ login: way === 'its own login' ? 'own' : 'stock' });

export const simulatedCnf = async (way: Way): Promise<CnfOfIcn> => {
  const openwrt = await started(way);
  const { simulator, clock } = openwrt;
  const pass = await openPass(openwrt, way === "ICN's REST" ? { driver: icnDriver(openwrt) } : {});
  const kernel = (): string[] => simulator.nft.listed().split('\n');
  const now = (): Look => ({
    files: Object.fromEntries(FILES.map((name) => [name, openwrt.sections(name)])),
    kernel: kernel(),
  });
  return {
    pass,
    rest: async (method, path, body) => {
      const url = `${simulator.url}/cgi-bin/luci/sdewan/${path}`;
      const answer = await clock.until(
        fetch(url, { method, ...(body && { body: JSON.stringify(body) }) }),
      );
      return { status: answer.status, json: await answer.json().catch(() => undefined) };
    },
    look: async () => now(),
    during: async (work) => {
      const looks = [now()];
      const mark = lastEntry(openwrt);
      await work();
      await clock.advance(PROCD_MS);
      for (const entry of simulator.journal())
        if (entry.seq > mark && entry.event === 'write' && FILES.includes(entry.package)) {
          const files = { ...looks.at(-1)?.files, [entry.package]: readUci(entry.text ?? '') };
          looks.push({ files, kernel: kernel() });
        }
      return [...looks, now()];
    },
    actions: async () => {
      await clock.advance(PROCD_MS);
      return simulator
        .journal()
        .flatMap((entry) => (entry.event === 'reload' ? [`${entry.service} ${entry.action}`] : []));
    },
    leave: async () => {
      await pass.driver.close();
      await openwrt.stop();
    },
  };
};

/**
 * Where the rights of login `sdewan` stand on a device of test/openwrt/device, and where more can
 * be given to root.
 */
const RIGHTS = '/usr/share/rpcd/acl.d/sdewan-fast.json';
const ROOT_RIGHTS = '/usr/share/rpcd/acl.d/luci-sdewan-takeover.json';
/** No page of LuCI's is about these packages, so an operator adds them. */
const ROOT_ACL = {
  'luci-sdewan-takeover': {
    read: { uci: ['mwan3', 'ipsec'] },
    write: { uci: ['mwan3', 'ipsec'] },
  },
};
const LOGIN: Readonly<Record<Way, string>> = {
  'its own login': 'sdewan',
  'a login without file rights': 'root',
  "ICN's REST": 'root',
};

/** As few processes as can be, to look as often as can be. */
const SHOW = [
  ...FILES.map((name) => `printf '=== file ${name}\\n%s\\n' "$(cat /etc/config/${name})"`),
  "printf '=== iptables\\n'; iptables-save",
  "printf '=== rule\\n'; ip -4 rule show",
  "printf '=== end\\n'",
].join('\n');

const LOOKS = '/tmp/sdewan-looks';
const LOOK_ON = `
rm -rf ${LOOKS}; mkdir ${LOOKS}
cat >${LOOKS}/on <<'ON'
while [ ! -e ${LOOKS}/over ]; do
${SHOW}
done >${LOOKS}/seen
touch ${LOOKS}/ended
ON
sh ${LOOKS}/on >/dev/null 2>&1 </dev/null &
until [ -s ${LOOKS}/seen ]; do sleep 0.02; done
`;
const LOOK_NO_MORE = `
touch ${LOOKS}/over
until [ -e ${LOOKS}/ended ]; do sleep 0.02; done
cat ${LOOKS}/seen
`;

const looksIn = (output: string): Look[] =>
  output
    .split(/^=== end\n/m)
    .filter((text) => text !== '')
    .map(lookIn);

const lookIn = (output: string): Look => {
  const parts = output.split(/^(?==== )/m);
  const files = parts.flatMap((part): [string, DeviceSection[]][] => {
    const [, name = '', text = ''] = /^=== file (\S+)\n([^]*)$/.exec(part) ?? [];
    return name === '' ? [] : [[name, readUci(text)]];
  });
  const rest = parts.filter((part) => !part.startsWith('=== file'));
  return { files: Object.fromEntries(files), kernel: kernelLines(rest.join('')) };
};

/**
 * Where nothing has changed for so long, what ICN's init scripts, mwan3's hotplug scripts and its
 * trackers do after a reload is over.
 */
const REST_MS = 5_000;
const BETWEEN_LOOKS_MS = 300;

const SERVICE_ACTION = /^(\S+ (?:start|restart|reload))$/;
/** What init scripts are asked for: rc.common notes it while one looks. */
const ACTIONS = '/tmp/sdewan-actions';
const NOTE = `echo "\${1##*/} $2" >>${ACTIONS}`;

/** @throws Error for a device that cannot be looked into */
export const cnfDevice = async (way: Way, device: NamedDevice): Promise<CnfOfIcn> => {
  const { url, passwordFile, inside } = device;
  if (!inside) throw new Error('what happens cannot be seen without --inside');
  inside(
    [
      'rm -rf /tmp/sdewan-before; cp -r /etc/config /tmp/sdewan-before',
      `: >${ACTIONS}; cp -p /etc/rc.common /tmp/sdewan-rc.common; sed -i '1a ${NOTE}' /etc/rc.common`,
      `cp ${RIGHTS} /tmp/sdewan-rights`,
      `cat >${RIGHTS} <<'RIGHTS'\n${JSON.stringify(aclFor(PACKAGES))}\nRIGHTS`,
      `cat >${ROOT_RIGHTS} <<'RIGHTS'\n${JSON.stringify(ROOT_ACL)}\nRIGHTS\n`,
    ].join('\n'),
  );
  const folder = mkdtempSync(join(tmpdir(), 'sdewan-cnf-of-icn-'));
  const usernameFile = join(folder, 'username');
  writeFileSync(usernameFile, LOGIN[way]);
  const place = { simulator: { url }, clock: realTime, folder, usernameFile, passwordFile };
  const pass = await openPass(
    place,
    way === "ICN's REST"
      ? {
          driver: createIcnDriver({
            target: { url, usernameFile, passwordFile },
            reassertMs: 0,
            clock: systemClock,
          }),
        }
      : {},
  );
  return {
    pass,
    rest: async (method, path, body) => {
      const answer = await fetch(`${url}/cgi-bin/luci/sdewan/${path}`, {
        method,
        ...(body && {
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        }),
        signal: AbortSignal.timeout(60_000),
      });
      const text = await answer.text();
      return { status: answer.status, json: text.startsWith('{') ? JSON.parse(text) : undefined };
    },
    look: async () => {
      let [last, since] = [lookIn(inside(`${SHOW}\n`)), Date.now()];
      while (Date.now() - since < REST_MS) {
        await sleep(BETWEEN_LOOKS_MS);
        const now = lookIn(inside(`${SHOW}\n`));
        if (!isDeepStrictEqual(now, last)) since = Date.now();
        last = now;
      }
      return last;
    },
    during: async (work) => {
      inside(LOOK_ON);
      await work();
      await sleep(REST_MS);
      return looksIn(inside(LOOK_NO_MORE));
    },
    actions: async () =>
      inside(`cat ${ACTIONS}\n`)
        .split('\n')
        .flatMap((line) => SERVICE_ACTION.exec(line)?.[1] ?? []),
    leave: async () => {
      await pass.driver.close();
      inside(
        [
          `touch ${LOOKS}/over; cp /tmp/sdewan-before/* /etc/config; mv /tmp/sdewan-rights ${RIGHTS}; rm -f ${ROOT_RIGHTS}`,
          'cp -p /tmp/sdewan-rc.common /etc/rc.common',
          'for one in firewall mwan3 ipsec; do /etc/init.d/$one restart; done >/dev/null 2>&1',
          '',
        ].join('\n'),
      );
      rmSync(folder, { recursive: true });
    },
  };
};
