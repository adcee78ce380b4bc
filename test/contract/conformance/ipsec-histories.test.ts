/**
 * Random histories of IPsec rules, on two devices with a wire between them (ipsec.test.ts): after
 * each step charon has the connections, keys and tunnels that the rules say, nothing else of ours
 * is up, and a tunnel that an administrator has made by hand is the same one. `--histories N` says
 * how many; without a device what was recorded of a run is judged.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RuleObject } from '#shared/kube/objects.ts';
import { cr, deleted } from '../agent/support/pass.ts';
import { namedDevice, otherDevice, type NamedDevice } from './named-device.ts';
import { onDevice, type Stage } from './stage.ts';
import { readKernelRecording, writeKernelRecording } from './kernel-recording.ts';
import { FOR_TUNNELS } from './tunnels.ts';

const HISTORIES = Number(process.env['OPENWRT_HISTORIES'] ?? 0);
const STEPS = 15;

const MODES = ['add', 'route', 'start'] as const;
const ALGORITHMS = [
  { encryption_algorithm: 'aes256', hash_algorithm: 'sha256', dh_group: 'modp2048' },
  { encryption_algorithm: 'aes128', hash_algorithm: 'sha256', dh_group: 'modp2048' },
  { encryption_algorithm: 'aes192', hash_algorithm: 'sha384', dh_group: 'modp2048' },
];
/** In the words of `swanctl --list-sas`. */
const CIPHERS = ['AES_CBC-256', 'AES_CBC-128', 'AES_CBC-192'];

type Connection = { name: string; mode: (typeof MODES)[number]; subnet: number };
/** `slot`: which of the other side's remotes it is for. */
type Remote = {
  slot: number;
  kind: 'IpsecSite' | 'IpsecHost';
  name: string;
  proposal: string;
  key: string;
  connections: readonly Connection[];
};
type Fixture = { remotes: readonly Remote[]; proposals: ReadonlyMap<string, number> };
type Roll = (below: number) => number;

const rollOf = (seed: number): Roll => {
  let state = seed * 7_919;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >> 8) % below;
  };
};

const keyOf = (slot: number): string => `key-of-${slot}`;
/**
 * Where the key is another one, this side may have given up, which charon does not take up again.
 */
const isRight = ({ slot, key }: Remote): boolean => key === keyOf(slot);
const keyBetween = (slot: number, local_identifier: string, remote_identifier: string) => ({
  pre_shared_key: keyOf(slot),
  local_identifier,
  remote_identifier,
});

const remoteRule = ({ slot, kind, name, proposal, key, connections }: Remote): RuleObject =>
  cr(kind, name, {
    remote: '10.255.0.2',
    authentication_method: 'psk',
    ...keyBetween(slot, `slot${slot}`, 'hub'),
    pre_shared_key: key,
    crypto_proposal: [proposal],
    connections: connections.map(({ name: connection, mode, subnet }) => ({
      name: connection,
      conn_type: 'tunnel',
      mode,
      ...(kind === 'IpsecSite' && { local_subnet: `10.1.${subnet}.0/24` }),
      remote_subnet: `10.2.${subnet}.0/24`,
      crypto_proposal: [proposal],
    })),
  });
const proposalRule = (name: string, at: number): RuleObject =>
  cr('IpsecProposal', name, ALGORITHMS[at] ?? {});
const rulesOf = ({ remotes, proposals }: Fixture): RuleObject[] => [
  ...[...proposals].map(([name, at]) => proposalRule(name, at)),
  ...remotes.map(remoteRule),
];

const TAKEN = ALGORITHMS.map((_, at) => `taken${at}`);
/** Waits for whatever the first device asks for. */
const waiting = (name: string, given: object, networks: readonly string[]): RuleObject =>
  cr('IpsecSite', name, {
    remote: '10.255.0.1',
    authentication_method: 'psk',
    ...given,
    crypto_proposal: TAKEN,
    connections: networks.map((remote_subnet, at) => ({
      name: `${name}_${at}`,
      conn_type: 'tunnel',
      mode: 'add',
      local_subnet: '10.2.0.0/16',
      remote_subnet,
      crypto_proposal: TAKEN,
    })),
  });
const OTHER_SIDE: readonly RuleObject[] = [
  ...TAKEN.map(proposalRule),
  waiting('administrators', { pre_shared_key: 'of-the-administrator' }, ['10.1.0.0/16']),
  ...[0, 1, 2].map((slot) =>
    waiting(`slot${slot}`, keyBetween(slot, 'hub', `slot${slot}`), [
      '10.1.0.0/16',
      '10.255.0.1/32',
    ]),
  ),
];

/** In strongSwan's own file, with a child of a name that rules may give theirs. */
const THEIRS = `connections { theirs { remote_addrs = 10.255.0.2
 proposals = aes256-sha256-modp2048
 local { auth = psk }
 remote { auth = psk }
 children { c0 { local_ts = 10.1.21.0/24
 remote_ts = 10.2.21.0/24
 esp_proposals = aes256-sha256-modp2048 } } } }
secrets { ike-theirs { secret = of-the-administrator } }
`;
const FILE = '/etc/swanctl/swanctl.conf';
const initiate = (remote: string, child: string): string =>
  `swanctl --initiate --ike ${remote} --child ${child} --timeout 8\ntrue\n`;
const BRING_THEIRS_UP = `swanctl --load-all --noprompt; ${initiate('theirs', 'c0')}`;
/** A charon that does ESP itself takes no network in which the device has no address. */
const addresses = (verb: 'add' | 'del', side: 1 | 2): string =>
  `for n in $(seq 1 21); do ip addr ${verb} 10.${side}.$n.1/32 dev lo; done\ntrue\n`;
/** More than once, since procd's own reload, a second after the last step's, starts it again. */
const STOP = 'for time in 1 2 3; do /etc/init.d/swanctl stop; sleep 1; done\n';
/** All sessions with rpcd end, as they do when OpenWRT starts anew. */
const RESTART = `old=$(pidof charon); /etc/init.d/swanctl restart; /etc/init.d/rpcd restart
until [ "$(pidof charon)" != "$old" ] && swanctl --stats && ubus list session; do sleep 1; done
`;
const STOPPED = 'while charon does not run';
const DISTURBANCES: Readonly<Record<string, string>> = {
  restart: `${RESTART}${BRING_THEIRS_UP}`,
  [STOPPED]: STOP,
};
/**
 * A host's tunnel is to the very address that IKE goes to, whose packets a charon that does ESP
 * itself must then tell from those of the tunnel.
 */
const MARKS = '/etc/strongswan.d/zz-histories.conf';
const TELL_APART = `cat >${MARKS} <<'X'
charon { plugins { kernel-libipsec { allow_peer_ts = yes }
 kernel-netlink { fwmark = !0x10000/0x10000 }
 socket-default { fwmark = 0x10000 } } }
X
${RESTART}`;
/** `remote`, and `remote/connection network cipher` of what is not on its way out. */
const tunnelsOn = (device: NamedDevice): { found: string[]; theirs: string | undefined } => {
  const text = device.inside?.('swanctl --list-sas\n') ?? '';
  let [remote, child] = ['', ''];
  const found = text.split('\n').flatMap((line): string[] => {
    const [, ike, state] = /^(\S+): #\d+, (\w+), IKEv/.exec(line) ?? [];
    if (ike !== undefined) {
      remote = ike;
      return state === 'DELETING' ? [] : [ike];
    }
    const [, name, now, cipher] =
      /^ {2}(\S+): #\d+, reqid \d+, (\w+), \S+ ESP:(\w+-\d+)/.exec(line) ?? [];
    if (name !== undefined) child = now === 'INSTALLED' ? `${remote}/${name} ${cipher}` : '';
    const [, subnet] = /^ {4}remote +10\.2\.(\d+)\.0\/24/.exec(line) ?? [];
    return subnet !== undefined && child !== '' ? [`${child} ${subnet}`] : [];
  });
  return { found, theirs: /^theirs: (#\d+), ESTABLISHED/m.exec(text)?.[1] };
};

const uciNameOf = (name: string): string => name.replaceAll(/\W/g, '_');
/** All that may be up, or what charon starts by itself. */
const tunnelsIn = ({ remotes, proposals }: Fixture, mode?: 'start'): string[] =>
  remotes.flatMap(({ name, proposal, connections }) => [
    ...(mode ? [] : [name]),
    ...connections
      .filter((one) => mode === undefined || one.mode === mode)
      .map(
        (one) =>
          `${name}/${uciNameOf(one.name)} ${CIPHERS[proposals.get(proposal) ?? 0]} ${one.subnet}`,
      ),
  ]);

/**
 * `remote` and `remote/connection network`, as charon has loaded them, for which it catches
 * packets, and whose keys it has. procd reloads once more by itself, and writes the file anew, a
 * line at a time.
 */
const LOADED = `swanctl --list-conns
swanctl --list-pols | sed -n 's/, T[A-Z]*$//; /^[^ ]*\\/[^ ]*$/s/^/packets for /p'
exec 9>/var/lock/procd_swanctl.lock
flock 9
awk '$1 ~ /^ike-/ { name = substr($1, 5) } $1 == "secret" { print "key of " name ": " $3 }' /var/swanctl/swanctl.conf
`;
const loadedOn = (device: NamedDevice): string[] => {
  let [remote, child] = ['', ''];
  return (device.inside?.(LOADED) ?? '').split('\n').flatMap((line): string[] => {
    if (/^(?:packets for|key of) /.test(line)) return [line];
    const [, ike] = /^(\S+): IKE/.exec(line) ?? [];
    if (ike !== undefined) return [(remote = ike)];
    const [, name] = /^ {2}(\S+): (?:TUNNEL|TRANSPORT)/.exec(line) ?? [];
    if (name !== undefined) child = name;
    const [, subnet] = /^ {4}remote: +10\.2\.(\d+)\.0\/24/.exec(line) ?? [];
    return subnet === undefined ? [] : [`${remote}/${child} ${subnet}`];
  });
};
const loadedBy = ({ remotes }: Fixture): string[] => [
  'theirs',
  'theirs/c0 21',
  ...remotes.flatMap(({ name, key, connections }) => [
    name,
    ...connections.map((one) => `${name}/${uciNameOf(one.name)} ${one.subnet}`),
    ...connections
      .filter(({ mode }) => mode === 'route')
      .map((one) => `packets for ${name}/${uciNameOf(one.name)}`),
    `key of ${name}: ${key}`,
  ]),
];

const nextOf = (
  { remotes, proposals }: Fixture,
  step: number,
  roll: Roll,
): { what: string; fixture: Fixture } => {
  const slot = roll(3);
  const there = remotes.find((one) => one.slot === slot);
  const others = remotes.filter((one) => one !== there);
  const connection = (): Connection => ({
    name: `c-${slot}-${roll(2) === 0 ? step : 0}`,
    mode: MODES[roll(3)] ?? 'add',
    subnet: 1 + roll(20),
  });
  const having = (what: string, change: Partial<Remote>) => {
    const fresh = { slot, name: `slot${slot}`, proposal: 'p', key: keyOf(slot) };
    const kind = roll(3) === 0 ? 'IpsecHost' : 'IpsecSite';
    const one = { kind, ...fresh, connections: [connection()], ...there, ...change } as const;
    return { what: `${one.name} ${what}`, fixture: { remotes: [...others, one], proposals } };
  };
  if (!there) return having('comes', {});
  const { connections } = there;
  const each = (change: (one: Connection) => Partial<Connection>) =>
    connections.map((one) => ({ ...one, ...change(one) }));
  const choices = [
    () => ({ what: `${there.name} goes`, fixture: { remotes: others, proposals } }),
    () => having('has other networks', { connections: each(() => ({ subnet: 1 + roll(20) })) }),
    () => having('has other names', { connections: each(({ name }) => ({ name: `${name}x` })) }),
    () =>
      having('has other modes', { connections: each(() => ({ mode: MODES[roll(3)] ?? 'add' })) }),
    () => {
      const more = { ...connection(), name: `more-${slot}-${step}` };
      const kept = connections.length > 1 ? [] : connections;
      return having('has one connection more, or one for two', { connections: [...kept, more] });
    },
    () => having('has another name', { name: `slot${slot}n${step}` }),
    () => having('has another proposal', { proposal: there.proposal === 'p' ? 'q' : 'p' }),
    () => having('has another key', { key: isRight(there) ? `another-${slot}` : keyOf(slot) }),
    () => {
      const at = ((proposals.get('p') ?? 0) + 1 + roll(2)) % ALGORITHMS.length;
      const changed = new Map([...proposals, ['p', at]] as const);
      return { what: 'p is another proposal', fixture: { remotes, proposals: changed } };
    },
    () => ({ what: 'restart', fixture: { remotes, proposals } }),
  ];
  return choices[roll(choices.length)]?.() ?? { what: 'nothing', fixture: { remotes, proposals } };
};

const [first, second] = [namedDevice(), otherDevice()];
const pairs = first && second ? [{ first, second }] : [];

const ADMINISTRATORS = ['theirs', 'theirs/c0 AES_CBC-256 21'];
const namedAs = ({ kind, metadata: { name } }: RuleObject) => `${kind} ${name}`;
describe.each(pairs)(
  'IPsec from $first.url to $second.url, with a tunnel that an administrator has made,',
  ({ first, second }) => {
    let [one, two]: Stage[] = [];
    let passed = 0;
    const bring = async (fixture: Fixture, before: Fixture) => {
      const rules = rulesOf(fixture);
      const staying = new Set(rules.map(namedAs));
      const leaving = rulesOf(before).filter((rule) => !staying.has(namedAs(rule)));
      await one?.pass.run([...FOR_TUNNELS, ...rules, ...leaving.map(deleted)]);
      const states = Object.values(one?.pass.states() ?? {});
      return states.filter((state) => !/^(Applied|Removed)/.test(state));
    };
    const bringInTheEnd = async (fixture: Fixture, before: Fixture): Promise<string[]> =>
      (await bring(fixture, before)).length === 0 ? [] : bringInTheEnd(fixture, before);
    /**
     * Also where charon starts anew, or does not run, meanwhile: an administrator's tunnel is then
     * another one.
     */
    const bringAs = async (how: string, fixture: Fixture, before: Fixture) => {
      first.inside?.(DISTURBANCES[how] ?? 'true\n');
      const wrong = await (how === STOPPED ? bringInTheEnd : bring)(fixture, before);
      const loaded = loadedOn(first).sort();
      if (how === STOPPED) first.inside?.(initiate('theirs', 'c0'));
      return { wrong, loaded };
    };
    /** What waits is brought up by hand, so that something is up which the next step is about. */
    const bringSomeUp = (fixture: Fixture, roll: Roll): void => {
      for (const { name, connections } of fixture.remotes.filter(isRight))
        for (const connection of connections.filter(({ mode }) => mode !== 'start'))
          if (roll(2) === 0) first.inside?.(initiate(name, uciNameOf(connection.name)));
    };
    beforeAll(async () => {
      first.inside?.(addresses('add', 1));
      second.inside?.(addresses('add', 2) + TELL_APART);
      one = await onDevice(first);
      two = await onDevice(second);
      await two.pass.run([...FOR_TUNNELS, ...OTHER_SIDE]);
      await one.pass.run(FOR_TUNNELS);
      first.inside?.(`cp -p ${FILE} ${FILE}.before; cat >>${FILE} <<'X'\n${THEIRS}X\n`);
      first.inside?.(BRING_THEIRS_UP);
    });
    afterAll(async () => {
      first.inside?.(`mv ${FILE}.before ${FILE}; swanctl --terminate --ike theirs --force\ntrue\n`);
      await one?.pass.run(FOR_TUNNELS.map(deleted));
      await two?.pass.run([...FOR_TUNNELS, ...OTHER_SIDE].map(deleted));
      await one?.leave();
      await two?.leave();
      first.inside?.(addresses('del', 1));
      second.inside?.(`rm ${MARKS}; /etc/init.d/swanctl restart\n${addresses('del', 2)}`);
      const recording = readKernelRecording('ubus-fast');
      if (process.env['UPDATE'] === '1' && recording)
        writeKernelRecording('ubus-fast', { ...recording, histories: passed });
    });

    it.each(Array.from({ length: HISTORIES }, (_, at) => at + 1))(
      'history %i: after each step charon has what the rules say',
      async (seed) => {
        const roll = rollOf(seed);
        const log: string[] = [];
        let fixture: Fixture = { remotes: [], proposals: new Map(Object.entries({ p: 0, q: 1 })) };
        let { theirs } = tunnelsOn(first);
        expect(theirs).toBeDefined();
        const givenUp = new Set<string>();
        for (let step = 0; step < STEPS; step += 1) {
          const { what, fixture: next } = nextOf(fixture, step, roll);
          const how = what !== 'restart' && (seed + step) % 7 === 0 ? STOPPED : what;
          log.push(how === what ? what : `${what}, ${how}`);
          const seen = await bringAs(how, next, fixture);
          fixture = next;
          if (how in DISTURBANCES) ({ theirs } = tunnelsOn(first));
          const now = tunnelsOn(first);
          const wanted = new Set([...ADMINISTRATORS, ...tunnelsIn(fixture)]);
          const more = now.found.filter((each) => !wanted.has(each));
          expect({ ...seen, log, more, theirs: now.theirs }).toEqual({
            log,
            wrong: [],
            more: [],
            theirs,
            loaded: loadedBy(fixture).sort(),
          });
          for (const remote of fixture.remotes) if (!isRight(remote)) givenUp.add(remote.name);
          const remotes = fixture.remotes.filter(({ name }) => !givenUp.has(name));
          const starting = tunnelsIn({ ...fixture, remotes }, 'start');
          const lacking = () => {
            const { found } = tunnelsOn(first);
            return { log, lacking: starting.filter((tunnel) => !found.includes(tunnel)) };
          };
          await expect.poll(lacking).toEqual({ log, lacking: [] });
          bringSomeUp(fixture, roll);
        }
        expect(await bring({ ...fixture, remotes: [] }, fixture)).toEqual([]);
        expect(tunnelsOn(first)).toEqual({ found: ADMINISTRATORS, theirs });
        passed += 1;
      },
      900_000,
    );
  },
);

it.each(first ? [] : ['ubus-fast' as const])('histories, as recorded: %s had 40', (path) => {
  expect(readKernelRecording(path)?.histories).toBeGreaterThanOrEqual(40);
});
