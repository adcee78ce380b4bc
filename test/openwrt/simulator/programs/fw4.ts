/**
 * The `fw4` command and the ruleset that it has put into the kernel. A reload answers 0 even when
 * nft refuses the set and the old one stays, and when the package cannot be read and a ruleset that
 * drops everything is loaded.
 */
import type { Clock } from '../clock.ts';
import type { DeviceRoot } from '../root.ts';
import type { Services } from '../services.ts';
import { UciError } from '../uci/errors.ts';
import { UciPackage } from '../uci/package.ts';
import type { UciStore } from '../uci/store.ts';
import { judgeFirewall, type Judgement } from './firewall/taken-sections.ts';
import { Ruleset } from './firewall/ruleset.ts';
import { subnetOf } from './firewall/subnets.ts';
import { refusals } from './firewall/nft.ts';
import { firstOf } from './firewall/values.ts';
import { complained, type Program, type ProgramResult } from './runner.ts';
import { SHELL_STAGING } from './uci.ts';

/** What the kernel does with packets. */
export type LoadedFirewall = {
  policies: { input: string; output: string; forward: string };
  /** Names (or anonymous ids) of the sections in force, in the order of the file. */
  sections: readonly string[];
};

type Judged = { package: UciPackage; judgement: Judgement };

export type Fw4Deps = {
  root: DeviceRoot;
  store: UciStore;
  services: Services;
  clock: Clock;
  /**
   * Milliseconds that a reload takes for each named section; measured: 0.6. Anonymous ones cost a
   * walk over all others.
   */
  reloadMsPerRule: number;
  /** What it takes besides. */
  reloadMs: number;
};

export class Fw4 {
  readonly #deps: Fw4Deps;
  #loaded: LoadedFirewall = { policies: DROP_ALL, sections: [] };
  /** Its table in the kernel, which others can change. */
  readonly nft = new Ruleset();
  /** `stop` was the last action: fw4 knows by a file of its own, whatever the kernel has. */
  #isStopped = false;

  constructor(deps: Fw4Deps) {
    this.#deps = deps;
  }

  get loaded(): LoadedFirewall {
    return this.#loaded;
  }

  /** As at boot: the ruleset of the package as it is now, no reload counted. */
  boot(): void {
    this.#isStopped = false;
    this.#load(this.#judge(this.#read()));
  }

  readonly program: Program = async ({ params, by, signal }) => {
    const quiet = params[0] === '-q';
    const action = (quiet ? params.slice(1) : params).join(' ');
    if (action === 'check') return this.#check(quiet);
    if (action === 'stop') return this.#stop();
    if (!['reload', 'restart', 'start'].includes(action))
      return complained(1, action === '' ? 'Usage:\n' : '');
    const wrong = this.#isStopped ? 'reload' : 'start';
    if (action === wrong) return complained(1, `The fw4 firewall ${STATES[wrong]} loaded.\n`);
    this.#isStopped = false;
    const judged = this.#judge(this.#read());
    const ms = this.#reloadMs(judged.package);
    if (ms > 0) await this.#deps.clock.wait(ms, signal);
    const refused = refusals(judged.judgement);
    if (refused === '') this.#load(judged);
    const stderr = `${quiet ? '' : judged.judgement.warnings.join('')}${refused}`;
    this.#deps.services.acted({ service: 'firewall', action, by, ok: refused === '', stderr });
    return complained(0, stderr);
  };

  /**
   * `fw4 print` of a package, as a table beside the loaded one; absent: of the one in /etc/config.
   */
  made(uciPackage = this.#read()): { table: Ruleset; warnings: readonly string[] } {
    const { judgement } = this.#judge(uciPackage);
    const table = new Ruleset();
    table.load(judgement.taken);
    return { table, warnings: judgement.warnings };
  }

  /** The loaded table was brought to what the package is now. */
  amended(): void {
    this.#loaded = this.#inForce(this.#judge(this.#read()));
  }

  #stop(): ProgramResult {
    this.#isStopped = true;
    this.nft.flush();
    return complained(0, '');
  }

  #check(quiet: boolean): ProgramResult {
    const { judgement } = this.#judge(this.#read());
    const refused = refusals(judgement);
    if (quiet) return complained(refused === '' ? 0 : 1, '');
    return {
      code: refused === '' ? 0 : 1,
      stdout: refused === '' ? 'Ruleset passes nftables check.\n' : '',
      stderr: `${judgement.warnings.join('')}${refused}`,
    };
  }

  #judge(uciPackage: UciPackage): Judged {
    const networks = this.#deps.store.list().includes('network')
      ? this.#tryLoad('network').sections.filter(({ type }) => type === 'interface')
      : [];
    const subnets = networks.map(({ name, options }) => {
      const [address, mask] = [options.get('ipaddr'), options.get('netmask')].map((value) =>
        typeof value === 'string' ? value : undefined,
      );
      return [name, subnetOf(address, mask)] as const;
    });
    return { package: uciPackage, judgement: judgeFirewall(uciPackage, new Map(subnets)) };
  }

  #load(judged: Judged): void {
    this.nft.load(judged.judgement.taken);
    this.#loaded = this.#inForce(judged);
  }

  #inForce({ package: uciPackage, judgement }: Judged): LoadedFirewall {
    const taken = new Set(judgement.taken.map(({ section }) => section));
    const defaults = judgement.taken.find(({ section }) => section.type === 'defaults');
    const policy = (option: string): string =>
      (defaults && firstOf(defaults.values, option)) ?? 'drop';
    return {
      policies: { input: policy('input'), output: policy('output'), forward: policy('forward') },
      sections: uciPackage.sections.filter((one) => taken.has(one)).map(({ name }) => name),
    };
  }

  #reloadMs({ sections }: UciPackage): number {
    const { reloadMs, reloadMsPerRule: perRule } = this.#deps;
    const anonymous = sections.filter((section) => section.anonymous).length;
    const forAnonymous = (perRule / 0.6) * ANONYMOUS_MS * anonymous * anonymous;
    return reloadMs + perRule * sections.length + forAnonymous;
  }

  #read(): UciPackage {
    return this.#tryLoad('firewall');
  }

  /** A package that cannot be read counts as empty. */
  #tryLoad(name: string): UciPackage {
    try {
      return this.#deps.store.load(name, this.#deps.root.path(SHELL_STAGING)).package;
    } catch (error) {
      if (error instanceof UciError) return new UciPackage(name);
      throw error;
    }
  }
}

const STATES = { reload: 'does not appear to be', start: 'appears to be already' };

const DROP_ALL = { input: 'drop', output: 'drop', forward: 'drop' };

/**
 * Milliseconds for each pair of anonymous sections; from 1.15 s at 1,000 and 6.3 s at 3,000, less
 * 0.6 ms each.
 */
const ANONYMOUS_MS = 0.000_5;
