/**
 * Whole configurations, the administrator's sections and rules alike, with values in every spelling
 * that a parser of OpenWRT takes, and some that none takes: no pass of the agent throws, no section
 * of others changes, and of the rules that can be compared with the kernel each is judged by the
 * kernel.
 */
import { caseCount } from '#shared/runtime/testing.ts';
import type { UciSection } from '#shared/uci/model.ts';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { KernelLook } from '../../../agent/openwrt/driver.ts';
import { excerptOf } from '../../../agent/openwrt/kernel/excerpt.ts';
import { lackingRules, nftRulesIn } from '../../../agent/openwrt/kernel/nft-rules.ts';
import { lackingRouting } from '../../../agent/openwrt/kernel/loaded-routes.ts';
import { lackingTunnels } from '../../../agent/openwrt/services/ipsec-tunnels.ts';
import { inForceIn, NOTHING_KNOWN } from '../../../agent/reconcile/rule-states.ts';
import {
  createOpenwrt,
  openAgent,
  stateFolder,
  type MemoryOpenwrt,
} from '../../../agent/reconcile/testing.ts';
import { BY_HAND, configurations, lost, sound } from './support/configurations.ts';

const CASES = caseCount(100);

const ROUTES = `10.8.0.0/16 via 172.16.30.1 dev net1 
2001:db8:1::/48 via fe80::1 dev net0 metric 1024 pref medium
unreachable 10.11.0.0/16 metric 1
inet
0:	from all lookup local
1500:	not from 10.1.2.0/24 to 10.3.0.0/16 fwmark 0x10/0xff lookup main
2061:	from all fwmark 0x3d00/0x3f00 blackhole
inet6
32766:	from all lookup main
`;
const table = (rules: readonly string[]): string =>
  `table inet fw4 {\n\tchain forward {\n${rules
    .map((name) => `\t\ttcp dport 80 counter drop comment "!fw4: ${name}"\n`)
    .join('')}\t}\n}\n`;
const before = nftRulesIn(table(['sound', 'lost', 'by hand']));
const now = nftRulesIn(table(['sound']));

const look = (openwrt: MemoryOpenwrt): KernelLook => {
  const compared = [
    ['network', lackingRouting(openwrt.sections('network'), ROUTES)],
    ['firewall', lackingRules(openwrt.sections('firewall'), before, now)],
    ['ipsec', lackingTunnels(openwrt.sections('ipsec'), 'hub: IKEv2, no\n  one: TUNNEL, no\n')],
  ] as const;
  return {
    lacking: new Map(compared.map(([name, { lacking }]) => [name, lacking])),
    incomparable: new Map(compared.map(([name, { incomparable }]) => [name, incomparable])),
  };
};

it(`stops no pass for any configuration of ${CASES}, and hides nothing that the kernel has and lacks`, async () => {
  await fc.assert(
    fc.asyncProperty(configurations, async ({ foreign, rules }) => {
      using folder = stateFolder();
      const openwrt = createOpenwrt();
      for (const { uciPackage, section } of foreign) {
        const sections = [...openwrt.sections(uciPackage), section];
        openwrt.packages.set(uciPackage, { name: uciPackage, sections });
      }
      const others = (): readonly UciSection[] =>
        [...openwrt.packages.values()]
          .flatMap(({ sections }) => sections)
          .filter(({ name }) => name.startsWith(BY_HAND));
      const atFirst = others();
      const kernel = { enumerable: true, get: () => look(openwrt) };
      Object.defineProperty(openwrt.reading, 'kernel', kernel);
      Object.defineProperty(openwrt.done, 'kernel', kernel);
      const agent = await openAgent(openwrt, folder.path);
      await agent.run([...sound, ...lost, ...rules]);
      await agent.run([...sound, ...lost, ...rules]);
      expect(others()).toEqual(atFirst);
      const standing = agent.standings.at(-1);
      const lacks = (key: string) => standing?.lacking.has(key);
      expect(['network.sdewan_route_sound_route', 'firewall.sdewan_rule_sound'].map(lacks)).toEqual(
        [false, false],
      );
      expect(['network.sdewan_route_lost_route', 'firewall.sdewan_rule_lost'].map(lacks)).toEqual([
        true,
        true,
      ]);
      const inForce = inForceIn(standing ?? NOTHING_KNOWN);
      expect(inForce).toContain('network.sdewan_route_sound_route');
      expect(inForce).toContain('firewall.sdewan_rule_sound');
      // What replaces a reload where few sections change reads the same packages.
      const after = { name: 'firewall', sections: openwrt.sections('firewall') };
      excerptOf({ ...after, sections: after.sections.slice(1) }, after);
    }),
    { numRuns: CASES },
  );
});
