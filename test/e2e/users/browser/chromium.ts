/**
 * Debian's Chromium, driven by puppeteer: without a profile, a sandbox that root cannot have, and
 * any word to anybody on the network.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch, type Browser } from 'puppeteer-core';

export const CHROMIUM = 'chromium';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const PROTOCOL_TIMEOUT_MS = 60_000;

export const hasChromium = (): Promise<boolean> =>
  new Promise((resolve) => {
    execFile(CHROMIUM, ['--version'], (error) => resolve(error === null));
  });

export type RunningChromium = { browser: Browser; close: () => Promise<void> };

export const startChromium = async (): Promise<RunningChromium> => {
  const userDataDir = await mkdtemp(join(tmpdir(), 'sdewan-chromium-'));
  const browser = await launch({
    executablePath: await pathOf(CHROMIUM),
    headless: true,
    pipe: true,
    args: FLAGS,
    userDataDir,
    protocolTimeout: PROTOCOL_TIMEOUT_MS,
  });
  return {
    browser,
    close: async () => {
      await browser.close();
      await rm(userDataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
};

const pathOf = (program: string): Promise<string> =>
  new Promise((resolve, reject) => {
    execFile('which', [program], (error, stdout) =>
      error ? reject(new Error(`there is no ${program}`)) : resolve(stdout.trim()),
    );
  });
