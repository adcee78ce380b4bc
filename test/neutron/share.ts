/**
 * Cases for a short run: one of every sort of peer, port and step. All of them run in `npm run
 * suite nightly neutron`.
 */

/** Numbers, separated by commas; absent: all. */
export const CASES_VARIABLE = 'SDEWAN_NEUTRON_CASES';

export const SHARE = [9, 22, 36, 47, 50];
