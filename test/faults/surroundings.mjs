/**
 * Loaded before a program of the product (`--import`), it stands for what a test cannot change
 * about a process from outside: the clock of its node, and the way to the API server. Plain
 * JavaScript on node: modules only, so that it costs next to nothing.
 *
 *   SDEWAN_TEST_CLOCK      file with so many milliseconds by which the wall clock is off, looked at
 *                          ten times a second
 *   SDEWAN_TEST_API_PORT   port of the API server instead of the one in the pod's environment
 *   SDEWAN_TEST_UPLINKS    port of uplinks.ts, which gives each pod a way of its own to the API
 *                          server and the coordinators
 */
import { readFileSync } from 'node:fs';

const {
  SDEWAN_TEST_CLOCK: file,
  SDEWAN_TEST_API_PORT: port,
  SDEWAN_TEST_UPLINKS: uplinks,
} = process.env;
if (port !== undefined) process.env.KUBERNETES_SERVICE_PORT = port;

if (uplinks !== undefined) {
  const { SDEWAN_NAMESPACE, SDEWAN_POD_NAME, SDEWAN_COORDINATOR_URL = '' } = process.env;
  const answer = await fetch(`http://127.0.0.1:${uplinks}/${SDEWAN_NAMESPACE}/${SDEWAN_POD_NAME}`, {
    method: 'POST',
    body: SDEWAN_COORDINATOR_URL,
  });
  const ports = await answer.json();
  process.env.KUBERNETES_SERVICE_PORT = String(ports.apiServer);
  process.env.SDEWAN_COORDINATOR_URL = ports.coordinators
    .map((each) => `https://127.0.0.1:${each}`)
    .join(',');
}

if (file !== undefined) {
  const LOOK_EVERY_MS = 100;
  const RealDate = Date;
  let offset = 0;
  const look = () => {
    try {
      const text = readFileSync(file, 'utf8');
      // Empty while it is written anew: a clock that is right for a tenth of a second goes back
      // afterwards.
      if (text !== '') offset = Number(text);
    } catch {
      offset = 0;
    }
  };
  look();
  setInterval(look, LOOK_EVERY_MS).unref();
  globalThis.Date = class extends RealDate {
    constructor(...values) {
      if (values.length === 0) super(RealDate.now() + offset);
      else super(...values);
    }
    static now() {
      return RealDate.now() + offset;
    }
  };
}
