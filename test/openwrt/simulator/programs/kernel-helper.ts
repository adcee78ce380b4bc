/**
 * The agent's program that looks into the kernel (`agent/openwrt/kernel/helper.ts`), where it is
 * mounted: the same verbs, files and words.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { writeBytes } from '../bytes.ts';
import type { Cause, Journal } from '../journal.ts';
import type { DeviceRoot } from '../root.ts';
import type { UciPackage } from '../uci/package.ts';
import type { UciStore } from '../uci/store.ts';
import { parsePackage } from '../uci/text.ts';
import { Ruleset, type NftStep } from './firewall/ruleset.ts';
import type { Fw4 } from './fw4.ts';
import type { Mwan3 } from './mwan3.ts';
import type { Netifd } from './netifd.ts';
import type { PolicyTables } from './policies.ts';
import type { Charon } from './ipsec.ts';
import {
  complained,
  printed,
  type Program,
  type ProgramCall,
  type ProgramResult,
} from './runner.ts';

/** Where the kubelet mounts it. */
export const KERNEL_HELPER_PATH = '/usr/share/rpcd/sdewan-kernel.sh';
const FOUND = '/tmp/sdewan-kernel/found';

/** What the helper says of firewall4 b6e5157, whose ways the simulator has. */
const FIREWALL4 = '9e770e36feede41536725bcf812103a8';

const md5 = (text: string): string => createHash('md5').update(text, 'latin1').digest('hex');

const stepIn = (line: string): NftStep => {
  const [verb, chain = '', handle, place] = line.split(' ');
  if (verb !== 'add' && verb !== 'insert' && verb !== 'delete') throw new Error(`step ${line}`);
  return { verb, chain, handle: Number(handle), place: Number(place) };
};

type Deps = {
  root: DeviceRoot;
  store: UciStore;
  fw4: Fw4;
  netifd: Netifd;
  mwan3: Mwan3;
  policies: PolicyTables;
  charon: Charon;
  journal: Journal;
};

export const createKernelHelper = (deps: Deps): Program => {
  const { root, store, fw4, netifd, mwan3, policies, charon, journal } = deps;
  const leave = (text: string, before = ''): ProgramResult => {
    for (const view of ['before', 'after'])
      mkdirSync(`${dirname(root.path(FOUND))}/${view}`, { recursive: true });
    writeBytes(root.path(FOUND), text);
    return printed(`${before}${md5(text)}  ${FOUND}\n`);
  };
  const readText = (file: string): string =>
    readFileSync(root.path(`${dirname(FOUND)}/${file}`), 'latin1');
  const excerpt = (view: string): UciPackage =>
    parsePackage('firewall', readText(`${view}/firewall`));
  /** What fw4 made of the last excerpt. */
  let made = new Ruleset();
  const render = (): ProgramResult => {
    const before = fw4.made(excerpt('before'));
    const after = fw4.made(excerpt('after'));
    made = after.table;
    const said = [...before.warnings, ...after.warnings].join('');
    return printed(
      `== fw4\n${FIREWALL4}  -\n== included\n== said\n${said}== before\n${before.table.listed()}== after\n${after.table.listed()}`,
    );
  };
  const isWhole = (): boolean => fw4.made().table.listed() === fw4.nft.listed();
  const amend = (by: Cause): ProgramResult => {
    const [table, ...lines] = readText('steps').trimEnd().split('\n');
    if (!fw4.nft.isLoaded || table !== String(fw4.nft.handle)) return complained(3, '');
    if (!fw4.nft.carryOut(lines.map(stepIn), made)) return complained(5, '');
    fw4.amended();
    journal.add({ event: 'amend', service: 'firewall', by, ok: isWhole() });
    const inItsWords = made.listed({ table: 'sdewan_after', handles: true });
    return leave(`== made\n${inItsWords}== loaded\n${fw4.nft.listed({ handles: true })}`);
  };
  const TABLE = 'sdewan_policy';
  const MARKER = 'sdewan_policy_rev';
  const MOST_JOURNALLED = 262_144;
  const loadPolicies = (by: Cause): ProgramResult => {
    mkdirSync(dirname(root.path(FOUND)), { recursive: true });
    const text = readText('policies');
    const refused = policies.load(text);
    const isKept = text.length <= MOST_JOURNALLED;
    journal.add({ event: 'policies', by, ok: refused === undefined, ...(isKept && { text }) });
    if (refused !== undefined) return printed(`== refused\n${refused}`);
    const flushed = [...text.matchAll(/^flush set inet \w+ (\w+)$/gm)].map(([, set = '']) => set);
    const isShort = flushed.length > 0 && flushed.length <= MOST_LISTED_SETS;
    const listed = isShort
      ? flushed.map((set) => policies.listedSet(TABLE, set)).join('')
      : policies.listed(TABLE);
    const all = `${policies.listed(MARKER)}${listed}`;
    if (all.length < SHORT) return printed(all);
    writeBytes(root.path(`${dirname(FOUND)}/policies-listed`), all);
    return printed(`== left ${md5(all)}\n`);
  };
  const policyVerb = (verb: string, by: Cause): ProgramResult => {
    if (verb === 'load-policies') return loadPolicies(by);
    if (verb === 'denied') {
      const counted = [...policies.counters(TABLE)].filter(([, packets]) => packets > 0);
      return printed(counted.map(([name, packets]) => `${name} ${packets}\n`).join(''));
    }
    if (verb !== 'policies') return complained(2, '');
    const set = policies.listedSet(TABLE, 'isolated_in_4', { terse: true });
    return printed(`${policies.listed(MARKER)}${set}`);
  };
  const state = (): ProgramResult => {
    const hooks = mwan3.isLoaded ? '\tchain mwan3_hook {\n'.repeat(2) : '';
    const table = `${freeSpace(store)}charon 1\n${fw4.nft.isLoaded ? 'table inet fw4 {\n' : ''}${hooks}`;
    const hasOurs = store.text('network')?.includes('sdewan_') === true;
    return hasOurs ? leave(routing(netifd), table) : printed(table);
  };
  const tunnelVerb = (call: ProgramCall): ReturnType<Program> | undefined => {
    const [verb] = call.params;
    if (verb === 'tunnels') {
      mkdirSync(dirname(root.path(FOUND)), { recursive: true });
      return printed(charon.listed());
    }
    if (verb !== 'end-tunnels') return undefined;
    for (const line of readText('tunnels').trimEnd().split('\n')) {
      const [kind = '', id] = line.split(' ');
      charon.end(kind, Number(id));
    }
    return printed('');
  };
  return (call) => {
    const { params, by } = call;
    switch (params.join(' ')) {
      case 'state':
        return state();
      case 'dump':
        return leave(fw4.nft.listed({ handles: true }));
      case 'mwan3':
        return leave(mwan3.shown());
      case 'render':
        return render();
      case 'amend':
        return amend(by);
      case 'compare':
        return printed(isWhole() ? '' : 'another rule\n');
      case 'restore-routes':
        netifd.restore();
        return printed('');
      default:
        return tunnelVerb(call) ?? policyVerb(params.join(' '), by);
    }
  };
};

/** The whole table is listed for more than that. */
const MOST_LISTED_SETS = 10;
/** What is longer is left in a file. */
const SHORT = 65_536;
const ROOM_KILOBYTES = 1_000_000;

/** As busybox' `df -Pk` has it. */
const freeSpace = ({ freeBytes, freeBytesOfTmp }: UciStore): string => {
  const line = (name: string, bytes: number, mount: string): string => {
    const free = Math.min(Math.floor(bytes / 1024), ROOM_KILOBYTES);
    return `${name} ${ROOM_KILOBYTES} ${ROOM_KILOBYTES - free} ${free} ${Math.round(100 - (100 * free) / ROOM_KILOBYTES)}% ${mount}\n`;
  };
  const header = 'Filesystem           1024-blocks    Used Available Capacity Mounted on\n';
  return `${header}${line('overlay', freeBytes, '/')}${line('tmpfs', freeBytesOfTmp, '/tmp')}`;
};

const routing = (netifd: Netifd): string => {
  const { routes, inet, inet6 } = netifd.shown();
  return [...routes, 'inet', ...inet, 'inet6', ...inet6, ''].join('\n');
};
