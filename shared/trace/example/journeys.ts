/** By which rules a packet comes to those of a section: hook by hook, all of them have to fit. */
import type { UciSection } from '../../uci/model.ts';
import type { PortRange, Range } from '../types.ts';
import { actionOf, isSamePath, originOf, type Path, type Paths } from './paths.ts';
import type { Terrain } from './terrain.ts';

/** Base chains in the kernel's order, of what is forwarded, of what is for the CNF, and of what it sends. */
const HOOKS = {
  forward: [
    'raw_prerouting',
    'mangle_prerouting',
    'dstnat',
    'mangle_forward',
    'forward',
    'mangle_postrouting',
    'srcnat',
  ],
  input: ['raw_prerouting', 'mangle_prerouting', 'dstnat', 'mangle_input', 'input'],
  output: ['mangle_output', 'output', 'mangle_postrouting', 'srcnat'],
} as const satisfies Record<string, readonly string[]>;
export type Way = keyof typeof HOOKS;

const BEFORE_ROUTING: ReadonlySet<string> = new Set(HOOKS.input.slice(0, 3));
const BEHIND_FILTER: ReadonlySet<string> = new Set(HOOKS.output.slice(2));
const BASES = [...new Set(Object.values(HOOKS).flat())];

export const isBeforeRouting = (base: string): boolean => BEFORE_ROUTING.has(base);

/** What a destination becomes; `in`: of packets that come in by this device. */
export type Translation = {
  path: Path;
  to: Range | undefined;
  ports: PortRange | undefined;
  in: string | undefined;
};

export type Journey = {
  /** Undefined: the packet gets there whatever way it takes. */
  way: Way | undefined;
  /** To a rule of the section. */
  path: Path;
  translation: Translation | undefined;
  /** By whom it has the mark that is asked for. */
  mark: Path | undefined;
  /** By whom it has passed the filter. */
  accepted: Path | undefined;
};

export function* journeysTo(
  section: UciSection,
  { paths, terrain }: { paths: Paths; terrain: Terrain },
): Generator<Journey> {
  for (const path of BASES.flatMap((base) => paths.from(base).filter((one) => isOf(one, section))))
    for (const accepted of acceptingBefore(path, paths)) {
      const way = wayOf(accepted?.base ?? path.base);
      for (const mark of markingBefore(path, { accepted, paths }))
        for (const translation of translationsOn(way, { paths, terrain }))
          yield { way, path, accepted, mark, translation };
    }
}

const isOf = (path: Path, section: UciSection): boolean => {
  const origin = originOf(path);
  return origin?.of === 'section' && origin.section === section;
};

const wayOf = (base: string): Way | undefined =>
  isBeforeRouting(base)
    ? undefined
    : (['forward', 'input', 'output'] as const).find((way) =>
        HOOKS[way].some((one) => one === base),
      );

const acceptingBefore = ({ base }: Path, paths: Paths): readonly (Path | undefined)[] =>
  BEHIND_FILTER.has(base)
    ? (['forward', 'output'] as const).flatMap((way) =>
        paths.from(way).filter((one) => actionOf(one)?.do === 'accept'),
      )
    : [undefined];

const markingBefore = (
  path: Path,
  { accepted, paths }: { accepted: Path | undefined; paths: Paths },
): readonly (Path | undefined)[] => {
  const asked = [path, accepted].flatMap((one) => one?.rules ?? []);
  if (!asked.some(({ conditions }) => conditions.some(({ on }) => on === 'mark')))
    return [undefined];
  const hooks = Object.values(HOOKS).find((all) =>
    [path.base, accepted?.base ?? path.base].every((base) => all.some((one) => one === base)),
  );
  const bases = hooks?.slice(0, hooks.findIndex((one) => one === path.base) + 1) ?? [];
  const marking = bases.flatMap((base) =>
    paths.from(base).filter((one) => actionOf(one)?.do === 'mark'),
  );
  const own = marking.findIndex(({ rules }) => isSamePath(rules, path.rules));
  return [undefined, ...(own === -1 ? marking : marking.slice(0, own))];
};

const translationsOn = (
  way: Way | undefined,
  { paths, terrain }: { paths: Paths; terrain: Terrain },
): readonly (Translation | undefined)[] =>
  way === undefined || way === 'output'
    ? [undefined]
    : [undefined, ...paths.from('dstnat').flatMap((path) => translationsBy(path, terrain))];

const translationsBy = (path: Path, terrain: Terrain): readonly Translation[] => {
  const action = actionOf(path);
  if (action?.do !== 'dnat') return [];
  const { to, ports, ofDevice } = action;
  if (!ofDevice) return [{ path, to, ports, in: undefined }];
  return terrain.devices.map((device) => ({
    path,
    to: terrain.addressOf(device),
    ports,
    in: device,
  }));
};
