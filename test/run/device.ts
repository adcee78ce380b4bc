/**
 * `npm run suite device`: drivers, kernel and packets on a real OpenWRT, one login after the other;
 * without one, the recordings of such runs.
 *
 *   --url U            its uhttpd, e.g. http://127.0.0.1:18080
 *   --inside 'CMD'     starts a program in it: test/openwrt/device/in.sh NAME, ssh root@router;
 *                      absent: the kernel is not looked into
 *   --peer 'CMD'       the same, as root, at the other end of its interfaces; absent: no packets
 *   --other-url, --other-inside   of a second device, which test/openwrt/device/link.sh has linked
 *                                 to it: IPsec between the two, and with --peer what cuts the agent
 *                                 off; nothing else
 *   --product          the whole product on the process kubelet, with devices of
 *                      SDEWAN_OPENWRT_ROOTFS as the CNF's image; needs no --url
 *   --walk N           N random changes, then N configurations of an administrator, and nothing
 *                      else
 *   --histories N      with a second device: N random histories of IPsec, and nothing else
 *   --icn              by ICN's REST, as root
 *   --user, --password-file   one login; absent: those of test/openwrt/device, with a second device
 *                             or --walk the agent's own
 *   --update           what is found becomes the recording, and docs/compatibility.md
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { writeCompatibilityPage } from '../contract/conformance/compatibility.ts';
import { whyNoRootFileSystem } from '../openwrt/device/root-file-system.ts';
import { runStages, type Project } from './stages.ts';

const { values } = parseArgs({
  options: {
    url: { type: 'string' },
    inside: { type: 'string' },
    peer: { type: 'string' },
    'other-url': { type: 'string' },
    'other-inside': { type: 'string' },
    product: { type: 'boolean', default: false },
    walk: { type: 'string' },
    histories: { type: 'string' },
    icn: { type: 'boolean', default: false },
    user: { type: 'string' },
    'password-file': { type: 'string' },
    update: { type: 'boolean', default: false },
  },
});

const { url, inside, peer } = values;
const FOLDER = 'test/contract/conformance';
const RECORDED = ['kernel', 'packets', 'ipsec'].map((name) => `${FOLDER}/${name}.test.ts`);
/** The suite of drivers reads ICN's files on the simulator only. */
const DRIVER = `${FOLDER}/driver.test.ts`;

/** The other end is the API server, from which the agent is cut off. */
const COMMIT_CONFIRM = `${FOLDER}/commit-confirm.test.ts`;

/** With certificates, which the least rights do not take. */
const TUNNELS = `${FOLDER}/ipsec.test.ts`;
const mayHoldCertificates = values.user === undefined || values.user === 'sdewan';

/** ICN's REST has no place for a stamp. */
const LOST_LEDGER = `${FOLDER}/lost-ledger.test.ts`;

/** ICN's device alone has what ICN's controller talks to. */
const TAKEOVER = `${FOLDER}/takeover.test.ts`;

/** ICN's firewall3 knows none. */
const AMENDMENTS = `${FOLDER}/amendments.test.ts`;

/** With the program of the agent's own login. */
const POLICIES = `${FOLDER}/policies.test.ts`;

/** What is read back of mwan3, and random histories of it. */
const MWAN3 = ['mwan3', 'mwan3-nft', 'mwan3-histories'].map((name) => `${FOLDER}/${name}.test.ts`);

/** Files of the agent's own login. */
const ATTACKS = 'test/attacks/agent-login.test.ts';

/** What can be seen with what is given. */
const files = (user: string): string[] => {
  const cut = inside === undefined || peer === undefined ? [] : [COMMIT_CONFIRM];
  if (values.histories !== undefined) return [`${FOLDER}/ipsec-histories.test.ts`];
  if (values['other-url'] !== undefined) return [...(mayHoldCertificates ? [TUNNELS] : []), ...cut];
  if (values.walk !== undefined)
    return [`${FOLDER}/walk.test.ts`, `${FOLDER}/any-configuration.test.ts`];
  const seen = inside === undefined ? [] : RECORDED.slice(0, peer === undefined ? 1 : 2);
  const [icns, others] =
    inside === undefined
      ? [[], []]
      : [
          [TAKEOVER],
          [AMENDMENTS, ...(user === 'sdewan' ? [POLICIES] : []), LOST_LEDGER, ATTACKS, ...MWAN3],
        ];
  return values.icn ? [...seen, ...icns, ...cut] : [DRIVER, ...seen, ...others, ...cut];
};

const passwordOfDevice = (): string => {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'sdewan-device-')), 'password');
  writeFileSync(file, 'sdewan', { mode: 0o600 });
  return file;
};

const logins = (): string[] => {
  if (values['other-url'] !== undefined || values.walk !== undefined)
    return [values.user ?? 'sdewan'];
  if (values.icn) return ['root'];
  return values.user === undefined ? ['sdewan', 'staged'] : [values.user];
};

/** One after the other: they share the device. */
const stagesOn = (url: string): Project[] =>
  logins().map((user) => ({
    name: 'device',
    files: files(user),
    env: {
      OPENWRT_URL: url,
      OPENWRT_USER: user,
      OPENWRT_PASSWORD_FILE: values['password-file'] ?? passwordOfDevice(),
      OPENWRT_API: values.icn ? 'icn' : 'ubus',
      ...(values.inside !== undefined && { OPENWRT_INSIDE: values.inside }),
      ...(values.peer !== undefined && { OPENWRT_PEER: values.peer }),
      ...(values['other-url'] !== undefined && { OPENWRT_OTHER_URL: values['other-url'] }),
      ...(values['other-inside'] !== undefined && { OPENWRT_OTHER_INSIDE: values['other-inside'] }),
      ...(values.walk !== undefined && { OPENWRT_WALK: values.walk }),
      ...(values.histories !== undefined && { OPENWRT_HISTORIES: values.histories }),
      ...(values.update && { UPDATE: '1' }),
    },
  }));

if (values.product) {
  const because = whyNoRootFileSystem();
  const stage =
    because === undefined
      ? { projects: [{ name: 'e2e-device', env: { CNF_IS_DEVICE: '1' } }] }
      : { cannotRun: 'the whole product on devices', because };
  process.exitCode = await runStages([stage]);
} else if (url === undefined) {
  console.log('No device is given (--url): what was recorded on one is judged instead.');
  process.exitCode = await runStages([{ projects: [{ name: 'device', files: RECORDED }] }]);
} else {
  if (inside === undefined) console.log('Without --inside nobody looks into the kernel.');
  if (inside === undefined || peer === undefined)
    console.log('Without --inside and --peer no packets are sent.');
  const stages = stagesOn(url).map((each) => ({ projects: [each] }));
  const because = 'nothing can be seen of it without --inside';
  process.exitCode = await runStages(
    logins().some((user) => files(user).length > 0)
      ? stages
      : [{ cannotRun: 'on the device of ICN', because }],
  );
  if (values.update) writeCompatibilityPage();
}
