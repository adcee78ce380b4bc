/** All rows of the fault table, in the order in which they run. */
import type { Row } from '../row.ts';
import { controlPlane } from './control-plane.ts';
import { objects } from './objects.ts';
import { openwrt } from './openwrt.ts';
import { processes } from './processes.ts';
import { surroundings } from './surroundings.ts';

export const rows: readonly Row[] = [
  ...processes,
  ...openwrt,
  ...surroundings,
  ...objects,
  ...controlPlane,
];
