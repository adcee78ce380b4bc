/**
 * `node test/kernel/trace/record.ts FIRST-SEED SCENES`: asks the kernel, and adds what it says to
 * the corpus.
 */
import { readCorpus, writeCorpus } from './corpus.ts';
import { Kernel, missing } from './kernel/kernel.ts';
import { sceneOf } from './random-firewalls.ts';

const PACKETS = 26;
const [first = 1_000, scenes = 250] = process.argv.slice(2).map(Number);

const why = missing();
if (why !== undefined) throw new Error(`cannot record: ${why}`);
const kernel = new Kernel();
const recorded: object[] = [...readCorpus()];
for (let seed = first; seed < first + scenes; seed++) {
  const scene = sceneOf(seed, PACKETS);
  const judged = await kernel.judge(scene);
  recorded.push(
    judged === 'refused'
      ? { seed, ...scene, packets: [], isRefused: true, judgements: [], listing: '' }
      : {
          seed,
          ...scene,
          isRefused: false,
          listing: judged.listing,
          judgements: judged.judgements.map((one) => one ?? null),
        },
  );
  if (recorded.length % 20 === 0) process.stderr.write(`${recorded.length} scenes\n`);
}
kernel.close();
writeCorpus(recorded);
