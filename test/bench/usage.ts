/** What the programs of a benchmark's own cluster have used, from the kernel. */
import { readdirSync, readFileSync } from 'node:fs';
import { memoryOf } from '../attacks/memory.ts';

export type Usage = {
  pid: number;
  /** Since its start. */
  cpuSeconds: number;
  /** Resident now. */
  mebibytes: number;
};

const MS_PER_TICK = 10;

/** Other clusters may run on the machine. */
const isOurs = (pid: string): boolean => {
  const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
  return parent === String(process.pid) || (parent !== '0' && isOurs(parent));
};
const runs = (pid: string, program: string): boolean => {
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return line.slice(0, 2).some((word) => word.includes(program)) && isOurs(pid);
  } catch {
    return false;
  }
};

/** Of each process of that program that descends from this one. */
export const usageOf = (program: string): Usage[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && runs(name, program))
    .map((pid) => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
      const ticks = Number(fields[11]) + Number(fields[12]);
      return {
        pid: Number(pid),
        cpuSeconds: (ticks * MS_PER_TICK) / 1_000,
        mebibytes: memoryOf(Number(pid)).now,
      };
    });
