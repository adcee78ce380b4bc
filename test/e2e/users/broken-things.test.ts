/**
 * What kubectl and `sdewan status` say of broken things (`test/e2e/users/broken-things.ts`), each
 * done to the running product. What they printed is kept in test/golden/broken; `UPDATE=1` writes
 * it anew. On processes only: a real kubelet has words of its own.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { createCnf } from '../../stack/cnf.ts';
import { lookUntil } from '../../stack/observe.ts';
import { apply, waitInSync } from '../../stack/operator.ts';
import { zone } from '../../stack/rules.ts';
import { sdewan } from '../../stack/sdewan.ts';
import { brokenThings, type Broken } from './broken-things.ts';
import { e2eCluster } from '../cluster.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const GOLDEN = path.join(ROOT, 'test/golden/broken');
/**
 * So long a status may tell of a moment that passes, as one in which the agent looks at OpenWRT
 * anew.
 */
const SETTLES_MS = 30_000;
const UPDATES = process.env['UPDATE'] === '1';
/** Terminals cut what is behind it. */
const MAX_COLUMN = 80;

/** Each look is two runs of kubectl. */
const next = () => sleep(1_500);

/** What another run prints otherwise. */
const steady = (text: string, namespace: string): string =>
  text
    .replaceAll(namespace, '<namespace>')
    .replaceAll(/\b(cnf-[a-z0-9]+|second|template)-[a-z0-9]{6,10}(-[a-z0-9]{5})?\b/g, '$1-<pod>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, '<time>')
    .replaceAll(/\b\d\d:\d\d:\d\d UTC\b/g, '<time>')
    .replaceAll(
      /(?<=^| )<?(\d+[smh]|invalid>|unknown>)+( \(x\d+ over [^)]*\))?(?=[ :]|$)/gm,
      '<age>',
    )
    .replaceAll(/(does not answer since <time>): .*$/gm, '$1: <why>')
    .replaceAll(/(does not answer the agent): .*(?= \(pod )/g, '$1: <why>')
    // Others make zones of the same CNF meanwhile.
    .replaceAll(/(create it first; there is: )[^()]*(?= \()/g, '$1<names>')
    .replaceAll(/ +/g, ' ')
    .replaceAll(/ +$/gm, '');

/** What the operator reads up: the advice of docs/status.md for the reasons that are printed. */
const adviceFor = (printed: string): string =>
  readFileSync(path.join(ROOT, 'docs/status.md'), 'utf8')
    .split('\n')
    .filter((line) => {
      const [, reason] = /^\|(?: |[^|]*\| )`(\w+)`/.exec(line) ?? [];
      return reason !== undefined && printed.includes(reason);
    })
    .join('\n');

/** The first line of that Event. */
const linesOf = (events: string, event: Broken['event']): string =>
  events
    .split('\n')
    .filter((line) => line.includes(` ${event?.reason} `) && line.includes(event?.says ?? ''))
    .slice(0, 1)
    .join('\n');

/**
 * An Event tells of the moment in which it was written, in which the agent may have been at work
 * for another of these things.
 */
const withoutForce = (event: string): string =>
  event.replaceAll(/\([^()]*\bin force[^()]* on (?=\d)/g, '(<force> on ');

/**
 * What `sdewan status` prints about the rule, or about its CNF where that is a CNF of its own.
 * Others are broken at the same time.
 */
const statusOf = (printed: string, { status = '', purpose }: Broken): string => {
  const [cnfs = '', ...paragraphs] = printed.split('\n\n');
  const ofCnf = purpose === undefined ? [] : [`${purpose} `, `CNF ${purpose}:`];
  const begins = (text: string): boolean =>
    [`${status} of `, ...ofCnf].some((begin) => text.startsWith(begin));
  return together(...[...cnfs.split('\n'), ...paragraphs].filter(begins));
};

/** What should stand in that, and does not. */
const lackingIn = (said: string, { status, isRepaired, names, cause, cure }: Broken): string[] => {
  if (status === undefined) return [];
  if (isRepaired) return said === '' ? ['the CNF'] : [];
  return [
    ...(said.includes(names) ? [] : [names]),
    ...(said.includes(`\n  cause: ${cause}`) ? [] : [cause]),
    ...(said.split('\n').some((line) => line.startsWith('  cure: ') && cure.test(line))
      ? []
      : ['the cure']),
  ];
};

const together = (...parts: readonly string[]): string =>
  parts
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join('\n\n');

/** Our own words of a line, without what kubectl and the API server put before them. */
const ownWords = (line: string): string =>
  line.replace(
    /^.*(ValidationError\([\w.]+\): |denied the request: |Warning: |denied request: |is invalid: (<nil>: Invalid value: )?|is forbidden: )/,
    '',
  );

/** kubectl puts several causes of a refusal into lines below that one. */
const LIST_OF_CAUSES = /^The \w+ "[^"]*" is invalid:$/;
const endsInColon = (line: string): boolean =>
  line.trimEnd().endsWith(':') && !LIST_OF_CAUSES.test(line.trimEnd());

describe('a broken thing is told so that it can be mended', async () => {
  const cluster = await e2eCluster();
  let namespace = '';

  beforeAll(async () => {
    namespace = await cluster.createNamespace('broken');
    await createCnf(cluster, { namespace, purpose: 'cnf-1', replicas: 1 });
    const lan = zone('lan1', 'ovn-net1');
    await apply(cluster, namespace, lan);
    await waitInSync(cluster, namespace, [lan]);
    mkdirSync(GOLDEN, { recursive: true });
  });

  const kubectl = async (...args: string[]): Promise<string> => {
    const { stdout, stderr } = await cluster.kubectl([...args, '-n', namespace], {
      allowFailure: true,
    });
    return stdout + stderr;
  };
  /**
   * Events on the object of that name, or on one whose name begins with it, without their times.
   */
  const eventsOn = async (name: string): Promise<string> => {
    const columns = 'TYPE:.type,REASON:.reason,OBJECT:.involvedObject.name,MESSAGE:.message';
    const all = await kubectl('get', 'events', '--no-headers', '-o', `custom-columns=${columns}`);
    return all
      .split('\n')
      .filter((line) => line.split(/ +/)[2]?.startsWith(name))
      .sort()
      .join('\n');
  };

  /** Undefined: not all of it is there yet. */
  const ofKubectl = async (
    { status, cause, event }: Broken,
    answer: string,
  ): Promise<{ printed: string; text: string } | undefined> => {
    const get = status ? await kubectl('get', status, '-o', 'wide') : '';
    const events = event ? await eventsOn(event.on) : '';
    const own = linesOf(events, event);
    const isTold = status === undefined || `${get}\n${events}`.includes(cause);
    if (!isTold || (event !== undefined && own === '')) return undefined;
    return {
      printed: together(answer, get, own),
      text: steady(together(answer, get, withoutForce(own)), namespace),
    };
  };
  const saidOf = async (broken: Broken): Promise<string> => {
    if (broken.status === undefined) return '';
    const { out } = await sdewan(cluster, 'status', '-n', namespace);
    return statusOf(out, broken);
  };
  /**
   * What is printed, from the answer on, once all of it is there and it is as it is kept, or does
   * not come to be so.
   */
  const told = async (
    broken: Broken,
    { answer, kept }: { answer: string; kept: string | undefined },
  ): Promise<{ printed: string; status: string; text: string }> => {
    let since: number | undefined;
    return lookUntil({ what: `${broken.cause}, and its Event`, next }, async () => {
      const seen = await ofKubectl(broken, answer);
      if (!seen) return undefined;
      since ??= performance.now();
      const isLate = performance.now() - since > SETTLES_MS;
      if (kept?.startsWith(seen.text) === false && !isLate) return undefined;
      const status = await saidOf(broken);
      const text = `${together(seen.text, steady(status, namespace))}\n`;
      return text === kept || isLate ? { printed: seen.printed, status, text } : undefined;
    });
  };

  it.concurrent.each(brokenThings.map((broken) => [broken.name, broken] as const))(
    '%s',
    async (name, broken) => {
      const file = path.join(GOLDEN, `${name}.txt`);
      const kept = UPDATES ? undefined : readFileSync(file, 'utf8');
      const answer = (await broken.does({ cluster, namespace })) ?? '';
      const { printed, status, text } = await told(broken, { answer, kept });
      const lines = together(printed, status).split('\n');

      expect(printed).not.toBe('');
      expect(lines.filter(endsInColon)).toEqual([]);
      expect(printed).toContain(broken.names);
      expect(`${printed}\n${adviceFor(printed)}`).toMatch(broken.cure);
      const columns = lines
        .map(ownWords)
        .filter((line) => line.includes(broken.cause))
        .map((line) => line.indexOf(broken.cause));
      expect(columns).not.toEqual([]);
      expect(Math.min(...columns)).toBeLessThanOrEqual(MAX_COLUMN);
      expect(lackingIn(status, broken)).toEqual([]);

      if (UPDATES) writeFileSync(file, text);
      expect(text).toBe(kept ?? text);
    },
  );
});
