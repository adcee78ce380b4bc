/** All rows of the fault table, in the order in which they run. */
import type { Row } from '../row.ts';
import { processes } from './processes.ts';

export const rows: readonly Row[] = [...processes];
