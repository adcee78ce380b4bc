/**
 * mwan3 on the simulator, or on the device that the run was given: what an administrator and a
 * kernel do there, and an agent.
 */
import { KERNEL_HELPER_PATH } from '#shared/inject/own-login-files.ts';
import { KERNEL_FILE } from '../../../agent/openwrt/kernel/helper.ts';
import { startOpenwrt } from '../agent/support/openwrt.ts';
import { openPass, type TestPass } from '../agent/support/pass.ts';
import { namedDevice } from './named-device.ts';
import { onDevice, recordedPath } from './stage.ts';

const given = namedDevice();
/** The agent's own login alone may look. */
const isOurs = given?.inside !== undefined && recordedPath(given) === 'ubus-fast';

export type Place = {
  text: () => string;
  /** With an editor; nothing is reloaded. */
  edit: (text: string) => void;
  restart: () => unknown;
  /** What the helper prints. */
  chains: () => string;
  setOnline: (uplink: string, isOnline: boolean) => void;
  /** With netifd, which tells mwan3. */
  setUp: (network: string, isUp: boolean) => void;
  /** Whether the kernel has the sets that sticky rules need, as it was found. */
  hasSets: boolean;
  setSets: (are: boolean) => void;
  flush: () => void;
  pass: TestPass;
  leave: () => Promise<void>;
};

/** In the place of ipset: refuses what a kernel without the type of set refuses. */
export const WITHOUT_SETS = `mv /usr/sbin/ipset /usr/sbin/ipset.all
cat >/usr/sbin/ipset <<'END'
#!/bin/sh
[ "$1" = restore ] || exec ipset.all "$@"
text=$(cat)
case $text in *hash:ip,mark*) exit 1 ;; esac
echo "$text" | ipset.all restore
END
chmod 755 /usr/sbin/ipset
`;

const onTheDevice = async (): Promise<Place> => {
  const { inside } = given ?? {};
  if (given === undefined || inside === undefined) throw new Error('no device');
  const stage = await onDevice(given);
  const before = stage.hands.text('mwan3');
  const restart = (): string => inside('/etc/init.d/mwan3 restart >/dev/null 2>&1\n');
  return {
    text: () => stage.hands.text('mwan3'),
    edit: (text) => stage.hands.write('mwan3', text),
    restart,
    chains: () => inside(`${KERNEL_HELPER_PATH} mwan3 >/dev/null\ncat ${KERNEL_FILE}\n`),
    setOnline: (uplink, isOnline) =>
      void inside(`mwan3 ${isOnline ? 'ifup' : 'ifdown'} ${uplink} >/dev/null 2>&1\n`),
    setUp: (network, isUp) => void inside(`${isUp ? 'ifup' : 'ifdown'} ${network}\n`),
    hasSets: inside(
      'ipset create sdewan_try hash:ip,mark 2>/dev/null && echo yes; ipset -q destroy sdewan_try; true\n',
    ).includes('yes'),
    setSets: (are) => void inside(are ? 'mv /usr/sbin/ipset.all /usr/sbin/ipset\n' : WITHOUT_SETS),
    flush: () =>
      void inside('for each in iptables ip6tables; do $each -w -t mangle -F mwan3_rules; done\n'),
    pass: stage.pass,
    leave: async () => {
      stage.hands.write('mwan3', before);
      restart();
      await stage.leave();
    },
  };
};

export const onTheSimulator = async (): Promise<Place> => {
  const openwrt = await startOpenwrt({ login: 'mounted' });
  const { mwan3, shell } = openwrt.simulator;
  const pass = await openPass(openwrt);
  return {
    text: () => openwrt.text('mwan3'),
    edit: (text) => openwrt.write('mwan3', text),
    restart: () => shell('/etc/init.d/mwan3', 'restart'),
    chains: () => mwan3.shown(),
    setOnline: (uplink, isOnline) => mwan3.setOnline(uplink, isOnline),
    setUp: (network, isUp) => mwan3.setOnline(network, isUp),
    hasSets: mwan3.hasSets,
    setSets: (are) => void (mwan3.hasSets = are),
    flush: () => mwan3.remove('-A mwan3_rules'),
    pass,
    leave: async () => {
      await pass.driver.close();
      await openwrt.stop();
    },
  };
};

export const isSimulated = given === undefined || !isOurs;
export const places: [string, () => Promise<Place>][] = [
  isSimulated ? ['the simulator', onTheSimulator] : ['the device', onTheDevice],
];

/** In the order of each. */
export const byChain = (text: string): readonly string[] =>
  text
    .split(/^== /m)
    .map((part) => part.trimEnd().split('\n'))
    .flatMap(([head = '', ...lines]) => [
      `== ${head}`,
      ...lines
        .map((line) => line.trim().replace('10.1.0.0/255.255.0.0', '10.1.0.0/16'))
        .toSorted((a, b) => (a.split(' ')[1] ?? '').localeCompare(b.split(' ')[1] ?? '')),
    ]);
