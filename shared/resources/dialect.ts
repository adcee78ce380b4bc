/** Kinds in the dialect of an OpenWRT. */
import type { Dialect } from './capabilities.ts';
import type { KindDefinition } from './kind.ts';
import { oncePerObject } from '../util/memo.ts';

/** The kinds with, as their rendering, the one of the dialect; undefined where there is none. */
export const inDialect = (
  kinds: readonly KindDefinition[],
  dialect: Dialect,
): readonly KindDefinition[] => (dialect === 'uci' ? kinds : inIcn(kinds));

const inIcn = oncePerObject((kinds: readonly KindDefinition[]): readonly KindDefinition[] =>
  kinds.map((kind) => ({ ...kind, uci: kind.icn })),
);
