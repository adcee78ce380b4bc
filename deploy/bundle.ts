/**
 * Bundles a program and everything it imports into one file, so that an image needs Node and that file alone.
 * `node deploy/bundle.ts agent/main.ts dist/agent.mjs`
 */
import { stat } from 'node:fs/promises';
import { build } from 'esbuild';

/** A bundle above this has caught something that it should not: a whole client library, a test. */
export const MAX_BUNDLE_BYTES = 2_000_000;

/** Packages in CommonJS call `require` for Node's own modules; an ES module must make one. */
const REQUIRE =
  "import { createRequire as bundledRequire } from 'node:module'; const require = bundledRequire(import.meta.url);";

/** Size of the bundle in bytes. @throws when the entry does not bundle, or to more than `MAX_BUNDLE_BYTES`. */
export const bundle = async (entry: string, output: string): Promise<number> => {
  await build({
    entryPoints: [entry],
    outfile: output,
    bundle: true,
    platform: 'node',
    target: 'node26',
    format: 'esm',
    minify: true,
    keepNames: true, // stack traces and error names are read by operators
    banner: { js: REQUIRE },
    legalComments: 'eof',
    logLevel: 'warning',
  });
  const { size } = await stat(output);
  if (size > MAX_BUNDLE_BYTES) {
    throw new Error(`${output} is ${size} bytes; at most ${MAX_BUNDLE_BYTES} are expected`);
  }
  return size;
};

if (import.meta.main) {
  const [entry, output] = process.argv.slice(2);
  if (!entry || !output) {
    process.stderr.write('usage: node deploy/bundle.ts ENTRY.ts OUTPUT.mjs\n');
    process.exitCode = 2;
  } else {
    const size = await bundle(entry, output);
    process.stdout.write(`${output}: ${(size / 1000).toFixed(0)} kB\n`);
  }
}
