/**
 * Logs: one JSON object per line on stdout, constant messages with fixed keys, values under names
 * of secrets replaced, bounded (`log-lines.ts`).
 */
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';
import { boundedLines } from './log-lines.ts';

export type Logger = PinoLogger;

/** Keys whose values never reach a log, on the top level and two levels below. */
const SECRET_KEYS = [
  'token',
  'password',
  'secret',
  'authorization',
  'Authorization',
  'cookie',
  'sessionId',
  'ubus_rpc_session',
  'private_key',
  'privateKey',
  'pre_shared_key',
  'local_private_cert',
];

export type LogOptions = {
  /** The program's name, in every line. */
  name: string;
  level: string;
  /** Default: stdout, written synchronously so that the last lines before an exit are not lost. */
  destination?: DestinationStream;
};

export const createLogger = ({ name, level, destination }: LogOptions): Logger =>
  pino(
    {
      name,
      level,
      base: { name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: ['', '*.', '*.*.'].flatMap((prefix) => SECRET_KEYS.map((key) => prefix + key)),
        censor: '[redacted]',
      },
    },
    boundedLines(destination ?? pino.destination({ dest: 1, sync: true })),
  );

/** For tests and callers that want no logs. */
export const silentLogger: Logger = pino({ level: 'silent' });
