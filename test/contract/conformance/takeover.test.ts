/**
 * A takeover from ICN's controller and the way back (docs/migration.md), with twenty objects of
 * nine kinds: nothing may be missing at any moment, neither in the files nor in the kernel. On the
 * simulator, whose kernel holds what the file held at the latest reload; on ICN's device as well,
 * where the run was given one (`npm run suite -- device --icn`).
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { differenceOf } from '../../openwrt/checks/kernel.ts';
import type { DeviceSection } from '../../openwrt/checks/uci.ts';
import { cnfDevice, simulatedCnf, type CnfOfIcn, type Look, type Way } from './cnf-of-icn.ts';
import { namedDevice } from './named-device.ts';
import { deletable, pathOf, requests, rulesOfIcn } from './twenty-of-icn.ts';

const given = namedDevice();
const open = (way: Way): Promise<CnfOfIcn> => (given ? cnfDevice(way, given) : simulatedCnf(way));
const where = given === undefined ? 'the simulator' : given.url;
/** A device runs on this machine's time, and it may be busy. */
const PATIENCE = given && { tries: 1, ms: 60_000 };
const TIMEOUT_MS = 120_000;

let cnf: CnfOfIcn;

const post = async (path: string, body: object): Promise<void> => {
  const { status } = await cnf.rest('POST', path, body);
  if (status !== 201) throw new Error(`POST ${path}: ${status}`);
};
/** As ICN's controller does after it has written. */
const reloadByIcn = async (): Promise<void> => {
  for (const service of ['firewall', 'mwan3', 'ipsec'])
    await cnf.rest('PUT', `v1/service/${service}`, { action: 'reload' });
};

const firewall = ({ files }: Look): DeviceSection[] => files['firewall'] ?? [];
const isOurs = ({ name }: DeviceSection): boolean => name?.startsWith('sdewan_') === true;
/** What a section says of itself; its options in their order. */
const contents = (sections: readonly DeviceSection[]) =>
  sections.map(({ type, options }) => [type, ...Object.entries(options)]);
const labels = (sections: readonly DeviceSection[]): string[] =>
  sections.map(({ name, options }) => String(options['name'] ?? name));
const notApplied = () => cnf.pass.reports().filter(({ state }) => state !== 'Applied');

/**
 * The simulator's stock image is one whose procd reloads by itself what is committed, once for the
 * names.
 */
const byProcd = (way: Way): string[] =>
  way === 'a login without file rights' && !given ? ['firewall reload'] : [];

const ways: Way[] = ['its own login', 'a login without file rights', "ICN's REST"];

// A device has one REST API and one set of files, so this file has it for itself.
describe.each(given?.api === 'ubus' ? [] : ways)(
  `a takeover of twenty objects by %s, on ${where}`,
  (way) => {
    beforeEach(async () => {
      cnf = await open(way);
      for (const { path, body } of requests) await post(path, body);
      await reloadByIcn();
    }, TIMEOUT_MS);
    afterEach(() => cnf.leave(), TIMEOUT_MS);

    const found = async (): Promise<unknown[]> => {
      const answers = [];
      for (const rule of rulesOfIcn) {
        const { status, json } = await cnf.rest('GET', pathOf(rule));
        answers.push([rule.metadata.name, status, json]);
      }
      return answers;
    };

    it(
      'misses nothing at any moment, keeps each in its place, and reloads no service',
      async () => {
        expect(rulesOfIcn).toHaveLength(20);
        const [before, asked] = [await cnf.look(), await cnf.actions()];
        expect(firewall(before).filter(isOurs)).toEqual([]);
        const looks = await cnf.during(() => cnf.pass.converge(rulesOfIcn, PATIENCE));
        expect(notApplied()).toEqual([]);

        for (const look of looks) {
          expect(contents(firewall(look))).toEqual(contents(firewall(before)));
          expect({ ...look.files, firewall: [] }).toEqual({ ...before.files, firewall: [] });
          expect(differenceOf(before.kernel, look.kernel).gone).toEqual([]);
        }
        const after = await cnf.look();
        // Over REST, which renames nothing, our names are the driver's own.
        expect(firewall(after).filter(isOurs)).toHaveLength(way === "ICN's REST" ? 0 : 15);
        expect((await cnf.actions()).slice(asked.length)).toEqual(byProcd(way));
        // A second pass finds nothing to do.
        const again = await cnf.during(() => cnf.pass.converge(rulesOfIcn, PATIENCE));
        expect(again.map(({ files }) => files)).toEqual(again.map(() => after.files));
        if (given) console.log(`${way}: complete in each of ${looks.length} looks`);
      },
      TIMEOUT_MS,
    );

    // REST changes nothing in place, and the device's stock login may not reload services.
    it.each(way === "ICN's REST" || (given && way !== 'its own login') ? [] : ['one that differs'])(
      '%s is changed in its place, and its service reloads once for that',
      async () => {
        const [before, asked] = [await cnf.look(), await cnf.actions()];
        const changed = rulesOfIcn.map((rule: RuleObject) =>
          rule.metadata.name === 'accept-22'
            ? { ...rule, spec: { ...Object(rule.spec), dest_port: '22' } }
            : rule,
        );
        const looks = await cnf.during(() => cnf.pass.converge(changed, PATIENCE));
        expect(notApplied()).toEqual([]);
        const at = labels(firewall(before)).indexOf('accept-22');
        const others = (look: Look) => contents(firewall(look)).toSpliced(at, 1);
        for (const look of looks) {
          expect(labels(firewall(look))).toEqual(labels(firewall(before)));
          expect(others(look)).toEqual(others(before));
        }
        expect(firewall(await cnf.look())[at]).toMatchObject({
          name: 'sdewan_rule_accept_22',
          options: { dest_port: '22' },
        });
        const actions = (await cnf.actions()).slice(asked.length);
        expect(actions).toEqual(['firewall reload', ...byProcd(way)]);
        // firewall3 itself empties its chains before it fills them, so the kernel is not asserted
        // here.
        const gaps = looks.filter(
          ({ kernel }) => differenceOf(before.kernel, kernel).gone.length > 1,
        );
        if (given)
          console.log(
            `${way}: ${gaps.length} of ${looks.length} looks lacked something in the kernel`,
          );
      },
      TIMEOUT_MS,
    );

    it(
      "ICN's REST finds each as before, and can replace and remove each when the agent is gone",
      async () => {
        const before = await found();
        await cnf.pass.converge(rulesOfIcn, PATIENCE);
        expect(await found()).toEqual(before);

        const zone = requests.find(({ body }) => body.name === 'lan1');
        const put = await cnf.rest('PUT', 'firewall/v1/zones/lan1', { ...zone?.body, masq: '1' });
        expect(put.status).toBe(200);
        const lan1 = firewall(await cnf.look()).filter(({ options }) => options['name'] === 'lan1');
        expect(lan1).toEqual([
          expect.objectContaining({
            name: undefined,
            options: expect.objectContaining({ masq: '1' }),
          }),
        ]);
        for (const rule of deletable) {
          const { status } = await cnf.rest('DELETE', pathOf(rule));
          expect([rule.metadata.name, status]).toEqual([rule.metadata.name, 200]);
        }
        const names = new Set(rulesOfIcn.map(({ metadata }) => metadata.name));
        const left = Object.values((await cnf.look()).files).flatMap((sections) =>
          labels(sections).filter((label) => names.has(label)),
        );
        expect(left).toEqual([]);
      },
      TIMEOUT_MS,
    );
  },
);
