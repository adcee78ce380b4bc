/** The recorded exchanges with a real rpcd, as they lie in the shared folder. */
import { existsSync, readFileSync } from 'node:fs';

export type Exchange = {
  name: string;
  request: {
    method: string;
    path: string;
    headers: Record<string, string>;
    body?: string | null;
    /** Length of the whole body, of which the record holds the beginning. */
    body_truncated_from?: number;
  };
  /** Absent where the bytes of the answer were recorded. */
  response?: { status: number; body: string; body_truncated_from?: number };
  response_raw?: string;
  note?: string;
};

export type Transcript = { meta: Record<string, unknown>; exchanges: readonly Exchange[] };

const SHARED = process.env['SDEWAN_SHARED'] ?? `${import.meta.dirname}/../../../../shared`;

/** Undefined where the shared folder is absent. */
export const readTranscript = (name: string): Transcript | undefined => {
  const path = `${SHARED}/reference/transcripts/${name}`;
  if (!existsSync(path)) return undefined;
  const transcript: Transcript = JSON.parse(readFileSync(path, 'utf8'));
  return transcript;
};

/** The text that ends a recorded body that was cut. */
export const CUT = '...';
