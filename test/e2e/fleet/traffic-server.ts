/**
 * A container beside OpenWRT that stands for what a CNF forwards: it answers 200 while OpenWRT has
 * what it must have in force, and 503 else. It is also the administrator of its OpenWRT, who brings
 * an interface some time after the first pass, so that a rule is Pending when the pod could be
 * ready.
 */
import { createServer, request, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

const ip = process.env['KTH_POD_IP'] ?? '127.0.0.1';
const rules = Number(process.env['TRAFFIC_RULES'] ?? 0);
/** Below zero: never. */
const lateMs = Number(process.env['TRAFFIC_LATE_MS'] ?? 0);
/** On processes no port of `fetch`, which blocks it. */
const OPENWRT_PORT = Number(process.env['TRAFFIC_OPENWRT_PORT'] ?? 10_080);
const LOOK_MS = 50;
/** A pod that is asked to end serves those on who do not know it yet. */
const DRAIN_MS = 3_000;

/**
 * libuci drops one of two commits at the same moment (measured): an administrator looks whether
 * theirs is there. What is lost after that time was taken.
 */
const SETTLED_MS = 1_000;

const interfaces = ["config interface 'net3'", "\toption enabled '1'", "\toption family 'ipv4'"];

/** What is not in force and must be; empty where all of it is. */
let lacks = 'OpenWRT has not answered yet';
let applied: number | undefined;
let broughtAt: number | undefined;

const ask = (method: 'GET' | 'PUT', path: string, body = ''): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = { host: ip, port: OPENWRT_PORT, path: `/_simulator${path}`, timeout: 2_000 };
    const sent = request({ ...options, method }, (response) => {
      text(response).then(resolve, reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('timeout')));
    sent.on('error', reject);
    sent.end(body);
  });

/** Gives what OpenWRT has for mwan3. */
const look = async (): Promise<string> => {
  const [state, mwan3] = await Promise.all([ask('GET', '/state'), ask('GET', '/config/mwan3')]);
  const inForce = new Set(state.match(/sdewan_rule_reject_\d+/g) ?? []).size;
  const isConfigured = inForce >= rules && mwan3.includes("config policy 'late'");
  const sections = mwan3.match(/^config .*$/gm)?.join(', ');
  lacks = isConfigured ? '' : `${inForce} of ${rules} rules, mwan3 has ${sections ?? 'nothing'}`;
  if (inForce >= rules) applied ??= Date.now();
  return mwan3;
};

const administer = async (): Promise<void> => {
  const mwan3 = await look();
  const now = Date.now();
  if (applied === undefined || lateMs < 0 || now < applied + lateMs) return;
  const isThere = mwan3.includes("config interface 'net3'");
  if (isThere || (broughtAt !== undefined && now > broughtAt + SETTLED_MS)) return;
  await ask('PUT', '/config/mwan3', `${mwan3}\n${interfaces.join('\n')}\n`);
  broughtAt ??= now;
};

const answer = async (response: ServerResponse): Promise<void> => {
  // On a busy machine the last look may be older than what the agent has reported since.
  if (lacks) await look().catch(() => undefined);
  response
    .writeHead(lacks ? 503 : 200, { connection: 'close' })
    .end(lacks ? `${ip}, ${lacks}` : ip);
};

createServer((_, response) => void answer(response)).listen(9_000, ip);

process.on('SIGTERM', () => setTimeout(() => process.exit(0), DRAIN_MS));
for (;;) {
  // OpenWRT starts later, and ends sooner: what was known stays.
  await administer().catch(() => undefined);
  await sleep(LOOK_MS);
}
