/**
 * What a kind's samples are. One file per kind holds all of them, and every suite goes over them:
 * unit tests and golden texts, the conformance of drivers, the API server, and end to end. A kind
 * that is added brings its own file, and is tested alike.
 */
import type { Rule } from '../stack/rules.ts';
import type { Expectation } from '../openwrt/checks/seed-rules.ts';
import type { IcnFieldTable } from './icn-table.ts';
import type { FieldTable, Spec } from './uci-table.ts';

export type Sample = {
  name: string;
  annotations?: Readonly<Record<string, string>>;
  spec: Spec;
};

export type Refused = {
  name?: string;
  spec: unknown;
  /** What the API server says, of the CRD alone; absent where only our own code can tell. */
  server?: string;
  /** Our own code's words, where the CRD accepts it. */
  agent?: string;
};

/** What an end-to-end test makes, changes and deletes. */
export type Life = {
  name: string;
  spec: Spec;
  changed: Spec;
  /** `package.section option`, and what it is before and after. `ADDRESS`: of the first pod. */
  shows: readonly [place: string, before: string | undefined, after: string | undefined];
};

/** One of the seed's kinds: what must be in the files, judged by type and options alone. */
export type SeedLife = {
  rule: Rule;
  changed: Spec;
  shows: (isChanged: boolean) => Expectation[];
};

/**
 * Each matches one line of the kernel (test/openwrt/checks/kernel.ts): while `life` has its spec,
 * and once it is changed.
 */
export type KernelLines = { created: readonly RegExp[]; changed: readonly RegExp[] };

/** What a device does with `life`. */
export type InKernel = {
  /** With firewall4 and nftables. */
  fw4: KernelLines;
  /** With firewall3, iptables and ICN's REST. Absent: as with firewall4. */
  fw3?: KernelLines;
  /** In place of those of `life`, where a device needs addresses of its own. */
  spec?: Spec;
  changed?: Spec;
  /** A kind whose `life` must be there as well, since nothing shows the rule otherwise. */
  shownBy?: string;
};

/** Texts that are kept; `UPDATE=1` rewrites them. Absent: empty. */
export type Texts = {
  /** A line for each section: `test/golden/brief.ts`. */
  uci?: string;
  /** Files that sections refer to. */
  files?: string;
  /** Both for an OpenWRT with swanctl. */
  swanctl?: string;
  swanctlFiles?: string;
  /**
   * What ICN's REST makes of it: rules that it cannot hold and why, then what the others add to
   * which file.
   */
  icn?: string;
};

export type Samples = {
  kind: string;
  /** As ICN's platform has them: all values are text, and fields that are not used are blank. */
  ofIcn: readonly Sample[];
  /**
   * Together with `ofIcn` each field at least once. They are compiled together with what they refer
   * to.
   */
  rendered: readonly Sample[];
  /** More that the schema accepts, by what it is about. */
  accepted: Readonly<Record<string, { name?: string; spec: unknown }>>;
  refused: Readonly<Record<string, Refused>>;
  /** Which option each field becomes; judges `texts`. */
  fields: FieldTable;
  /** The same for ICN's REST. Absent: ICN does not have the kind itself. */
  icnFields?: IcnFieldTable;
  life: Life;
  kernel: InKernel;
  seedLife?: readonly SeedLife[];
  texts: Texts;
};
