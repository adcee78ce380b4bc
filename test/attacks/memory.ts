/** What a process has used, from the kernel. */
import { readdirSync, readFileSync } from 'node:fs';

/** Resident memory in MiB: what it has now, and the most that it ever had. */
export const memoryOf = (pid: number): { now: number; peak: number } => {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mebibytes = (field: string): number =>
    Math.round(Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1_024);
  return { now: mebibytes('VmRSS'), peak: mebibytes('VmHWM') };
};

/** Resident memory in KiB, for what grows slowly. */
export const residentKilobytesOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);

/** Open files, connections among them. */
export const filesOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;
