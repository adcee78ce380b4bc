/** The rules that were made for the recording, as text and as deltas. */

/** Rule number `index` of the packages that were made for the recording. */
export const ruleText = (index: number): string => {
  const options = Object.entries(ruleOptions(index));
  return `\nconfig rule 'sdewan_${index}'\n${options.map(([name, value]) => `\toption ${name} '${value}'\n`).join('')}`;
};

export const ruleDelta = (index: number): string => {
  const path = `firewall.sdewan_${index}`;
  const options = Object.entries(ruleOptions(index));
  return `${path}='rule'\n${options.map(([name, value]) => `${path}.${name}='${value}'\n`).join('')}`;
};

export const ruleOptions = (index: number): Record<string, string> => ({
  name: `r${index}`,
  src: index % 2 === 0 ? 'wan' : 'lan',
  dest: index % 2 === 0 ? 'lan' : 'wan',
  src_ip: `10.${Math.floor(index / 250)}.${(index % 250) + 1}.0/24`,
  proto: 'tcp',
  dest_port: String(1024 + index),
  target: ['ACCEPT', 'REJECT', 'DROP'][index % 3] ?? '',
});

export const rulesText = (count: number): string =>
  Array.from({ length: count }, (_, index) => ruleText(index)).join('');

export const SECTION_OLD =
  "\nconfig rule 'sdewan_old'\n\toption name 'old'\n\toption src 'lan'\n\toption target 'DROP'\n";
export const SECTION_KEEP =
  "config rule 'sdewan_keep'\n\toption name 'keep'\n\toption src 'lan'\n\toption dest 'wan'\n\toption proto 'tcp'\n\toption dest_port '99'\n\toption target 'DROP'\n";

/**
 * What the rig's genfw.sh made after the stock sections. The script was not recorded, only the
 * sizes of its work, as a file and as JSON; these have the same.
 */
export const generatedRules = (count: number): string => {
  const rules = Array.from({ length: count }, (_, index) => {
    const [high, low] = [Math.floor(index / 250), (index % 250) + 1];
    const options = {
      name: `r-${index}`,
      src: index % 2 === 0 ? 'wan' : 'lan',
      dest: index % 2 === 0 ? 'lan' : 'wan',
      src_ip: `10.1.${high}.${low}`,
      dest_ip: `10.2.${high}.${low}`,
      proto: index % 4 === 3 ? 'icmp' : 'tcp',
      dest_port: String(1024 + index),
      target: ['ACCEPT', 'REJECT', 'DROP'][index % 3] ?? '',
    };
    const lines = Object.entries(options).map(
      ([name, value]) =>
        `\toption${name === 'name' && index % 4 === 3 ? '\t' : ' '}${name}\t${value}\n`,
    );
    return `config rule\n${lines.join('')}`;
  });
  return rules.join('');
};
