import { describe, expect, it } from 'vitest';
import type { UciSection } from '#shared/uci/model.ts';
import { readReload, SILENT } from './fw4-reload.ts';

const section = (name: string, options: UciSection['options'], type = 'rule'): UciSection => ({
  name,
  anonymous: false,
  type,
  options,
});

const sections = [
  section('sdewan_zone_zl', { name: 'zl' }, 'zone'),
  section('sdewan_rule_np', { name: 'np' }),
  section('sdewan_rule_ok', { name: 'ok' }),
];

/** As recorded (test/contract/recordings/ubus-apply, the exchanges `fw4: reload, …`). */
const recorded = {
  address:
    "[!] Section sdewan_bad (bad) option 'src_ip' specifies invalid value '10.0.0.300'\n[!] Section sdewan_bad (bad) skipped due to invalid options\n",
  unknownOption: "[!] Section sdewan_desc (desc) specifies unknown option 'desc'\n",
  protocol:
    '/dev/stdin:127:16-21: Error: Could not resolve protocol name\n\t\tmeta l4proto nosuch counter jump drop_to_wan comment "!fw4: np"\n\t\t             ^^^^^^\n',
  device:
    '/dev/stdin:84:11-33: Error: String exceeds maximum length of 16\n\t\tiifname "averyveryverylongname" jump input_zl comment "!fw4: Handle zl IPv4/IPv6 input traffic"\n\t\t        ^^^\n',
};

describe("fw4's output of a reload", () => {
  it('is empty when the reload succeeded', () => {
    expect(readReload('', sections)).toEqual(SILENT);
  });

  it('names the section that is left out, with all messages about it', () => {
    expect(readReload(recorded.address, sections).warnings).toEqual(
      new Map([
        [
          'sdewan_bad',
          "option 'src_ip' specifies invalid value '10.0.0.300'; skipped due to invalid options",
        ],
      ]),
    );
  });

  it('names a section of which an option is not understood, and which is in force without it', () => {
    const { warnings, wider } = readReload(recorded.unknownOption, sections);
    expect([...warnings.keys()]).toEqual(['sdewan_desc']);
    expect([...wider]).toEqual(['sdewan_desc']);
    expect(readReload(recorded.address, sections).wider.size).toBe(0);
  });

  it('tells the beginning of words of any length', () => {
    const words = `specifies invalid value '${'1'.repeat(5_000)}'`;
    const line = `[!] Section sdewan_bad (bad) option 'src_ip' ${words}\n`;
    const [warning = ''] = readReload(line + line, sections).warnings.values();
    expect(warning).toMatch(/^option 'src_ip' specifies invalid value '1+…$/);
    expect(warning).toHaveLength(401);
    const refused = readReload(`Error: ${words}\n`, sections).refusal;
    expect(refused?.message).toHaveLength(401);
  });

  it('has no problem with a redirect whose destination fw4 works out', () => {
    const line = "[!] Section sdewan_dnat_d (d) does not specify a destination, assuming 'lan'\n";
    expect(readReload(line, sections)).toEqual(SILENT);
  });

  it('names an anonymous section by its index among those of its type', () => {
    const line = "[!] Section @rule[1] (n) option 'src' specifies invalid value 'dmz'\n";
    const cfg = { ...section('cfg0492bd', { name: 'n' }), anonymous: true };
    expect([...readReload(line, [...sections.slice(0, 2), cfg]).warnings.keys()]).toEqual([
      'cfg0492bd',
    ]);
  });

  it('has no problem with a section that is disabled on purpose', () => {
    const line = '[!] Section sdewan_off (off) is disabled, ignoring section\n';
    expect(readReload(line, sections).warnings.size).toBe(0);
  });

  it('traces a refused ruleset to the rule that nft names', () => {
    expect(readReload(recorded.protocol, sections).refusal).toEqual({
      message: 'Error: Could not resolve protocol name',
      sections: ['sdewan_rule_np'],
    });
  });

  it('traces a refused ruleset to the zone that nft names', () => {
    expect(readReload(recorded.device, sections).refusal?.sections).toEqual(['sdewan_zone_zl']);
  });

  it('names no section when nft names none', () => {
    expect(readReload('Error: Could not process rule\n', sections).refusal?.sections).toEqual([]);
  });
});
