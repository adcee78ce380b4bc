/** A CA of the tests' own and the coordinator's certificate, as an operator with a PKI would provide them. */
import { createCa, issueServing } from '../../coordinator/certificates/x509.ts';

const LIFETIME_MS = 24 * 3_600_000;

export type CoordinatorTls = { ca: string; cert: string; key: string };

export const createCoordinatorTls = async (names: readonly string[]): Promise<CoordinatorTls> => {
  const validity = { issuedAt: Date.now(), lifetimeMs: LIFETIME_MS };
  const ca = await createCa('sdewan tests', validity);
  const { cert, key } = await issueServing(ca, names, validity);
  return { ca: ca.cert, cert, key };
};
