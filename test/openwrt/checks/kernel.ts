/**
 * What a device does with packets, as its kernel and charon list it: one line per rule, route and
 * setting, each with its place in front, so that two looks can be compared. Written apart from the
 * product, which must not share its mistakes.
 */

/** To be run by a shell on the device. Programs that it does not have are left out. */
export const LOOK = `
has() { command -v "$1" >/dev/null 2>&1; }
echo '=== nft'; has fw4 && nft -s list table inet fw4
echo '=== iptables'; has iptables-save && iptables-save
echo '=== ip6tables'; has ip6tables-save && ip6tables-save
echo '=== route'; ip -4 route show table all
echo '=== route6'; ip -6 route show table all
echo '=== rule'; ip -4 rule show
echo '=== rule6'; ip -6 rule show
echo '=== charon'; has swanctl && swanctl --list-conns
echo '=== swanctl'; cat /var/swanctl/swanctl.conf
true
`;

/** The output of LOOK as lines, in their order. */
export const kernelLines = (output: string): string[] =>
  output
    .split(/^=== /m)
    .slice(1)
    .flatMap((part) => {
      const [place = '', ...rows] = part.split('\n');
      const lines = READERS[place]?.(rows.filter((row) => row.trim() !== '')) ?? [];
      return lines.map((line) => `${place} ${line}`);
    });

type Reader = (rows: readonly string[]) => string[];

/** What is within `name {` … `}` gets the names around it; `line` says what of a row is kept. */
const nested =
  (line: (row: string, within: readonly string[]) => string[]): Reader =>
  (rows) => {
    const within: string[] = [];
    return rows.flatMap((row) => {
      const text = row.trim();
      if (text === '}') within.pop();
      else if (text.endsWith(' {')) within.push(text.slice(0, -2));
      else return line(text, within);
      return [];
    });
  };

/** fw4 offers each zone all that the kernel knows of. */
const OF_CONNECTION_TRACKING = /^(ct helper|chain helper_)/;
const nft = nested((row, [, ...within]) =>
  within.some((name) => OF_CONNECTION_TRACKING.test(name)) ? [] : [`${within.join(' ')}: ${row}`],
);

const SECRET = /^secret\b/;
const swanctl = nested((row, within) =>
  SECRET.test(row) ? [] : [`${within.join('.')}: ${row.replace(/^# /, '')}`],
);

const iptables: Reader = (rows) => {
  let table = '';
  return rows.flatMap((row) => {
    if (row.startsWith('*')) table = row.slice(1);
    const policy = /^:(\S+) (ACCEPT|DROP)/.exec(row);
    if (policy) return [`${table}: -P ${policy[1]} ${policy[2]}`];
    return row.startsWith('-') ? [`${table}: ${row}`] : [];
  });
};

/** The kernel makes these itself, for each address. */
const OF_ITSELF = /^(local|broadcast|multicast|anycast) |^fe80::|^ff00::| table local /;
const routes: Reader = (rows) =>
  rows
    .filter((row) => !OF_ITSELF.test(row))
    .map((row) => row.trim().replaceAll(/ pref medium| metric 1024/g, ''));

const rules: Reader = (rows) => rows.map((row) => row.trim().replaceAll(/\s+/g, ' '));

const charon: Reader = (rows) => {
  let connection = '';
  return rows.flatMap((row) => {
    if (!row.startsWith(' ')) [connection = ''] = row.split(':');
    return [`${connection}: ${row.startsWith(' ') ? row.trim() : row.split(': ')[1]}`];
  });
};

const READERS: Readonly<Record<string, Reader>> = {
  nft,
  iptables,
  ip6tables: iptables,
  route: routes,
  route6: routes,
  rule: rules,
  rule6: rules,
  charon,
  swanctl,
};

export type Difference = { added: string[]; gone: string[] };

/** A line that is there twice counts twice; its place in the order is not compared. */
export const differenceOf = (before: readonly string[], after: readonly string[]): Difference => ({
  added: without(after, before),
  gone: without(before, after),
});

const without = (lines: readonly string[], others: readonly string[]): string[] => {
  const left = [...others];
  return lines.filter((line) => {
    const at = left.indexOf(line);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
};
