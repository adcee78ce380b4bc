import { expect, test } from 'vitest';
import { Arguments } from './bus.ts';
import { blobBytes, MAX_MESSAGE_BYTES } from './blob.ts';
import { applyDelta } from '../uci/delta.ts';
import { UciPackage } from '../uci/package.ts';
import { dumpChange, dumpPackage } from './uci/values.ts';

const delta = (rules: number): string =>
  Array.from({ length: rules }, (_, index) =>
    [
      `firewall.sdewan_${index}='rule'`,
      `firewall.sdewan_${index}.name='r${index}'`,
      `firewall.sdewan_${index}.src='wan'`,
      `firewall.sdewan_${index}.dest='lan'`,
      `firewall.sdewan_${index}.src_ip='10.1.2.100'`,
      `firewall.sdewan_${index}.dest_ip='10.2.2.100'`,
      `firewall.sdewan_${index}.proto='tcp'`,
      `firewall.sdewan_${index}.dest_port='${1024 + index}'`,
      `firewall.sdewan_${index}.target='ACCEPT'\n`,
    ].join('\n'),
  ).join('');

const bytesOf = (rules: number): { get: number; changes: number } => {
  const uciPackage = new UciPackage('firewall');
  const { staged } = applyDelta(uciPackage, delta(rules));
  return {
    get: blobBytes('', { values: dumpPackage(uciPackage, new Arguments({})) }),
    changes: blobBytes('', { changes: staged.map(dumpChange) }),
  };
};

test('uci get passes ubusd at 3,600 rules and not at 4,000, as measured', () => {
  expect(bytesOf(3_600).get).toBeLessThanOrEqual(MAX_MESSAGE_BYTES);
  expect(bytesOf(4_000).get).toBeGreaterThan(MAX_MESSAGE_BYTES);
});

test('uci changes does not pass at 3,000 staged rules, as measured', () => {
  expect(bytesOf(3_000).changes).toBeGreaterThan(MAX_MESSAGE_BYTES);
});
