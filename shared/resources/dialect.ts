/** The two ways of writing rules to an OpenWRT: as UCI sections, or as objects of ICN's REST API. */
import type { KindDefinition } from './kind.ts';

export type Dialect = 'uci' | 'icn';

/** The kinds with, as their rendering, the one of the dialect; undefined where there is none. */
export const inDialect = (
  kinds: readonly KindDefinition[],
  dialect: Dialect,
): readonly KindDefinition[] =>
  dialect === 'uci' ? kinds : kinds.map((kind) => ({ ...kind, uci: kind.icn }));
