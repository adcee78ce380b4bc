/**
 * Bundles a program and everything it imports into `main.mjs`, so that an image needs Node and that
 * folder alone. What a program imports only when needed (`await import`) is a file beside it:
 * merely being in the bundle, the kubeconfig reader of client-node cost an agent 16 MB of memory
 * that it never used in a pod (90 against 74 MB, measured). `node deploy/images/bundle.ts
 * agent/main.ts dist/agent`; `node deploy/images/bundle.ts coordinator/main.ts dist/coordinator
 * sdewan=coordinator/cli/main.ts`
 */
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { build, type BuildOptions, type Plugin } from 'esbuild';
import { installedManifests } from '../installation/manifests.ts';
import { writeLicenses } from './licenses.ts';

/**
 * A bundle above this has caught something that it should not: a whole client library, a test. The
 * X.509 library is 0.35 MB, the CLI 0.16 MB, roll-outs 0.03 MB, the dashboard 0.08 MB,
 * NetworkPolicies 0.03 MB, WebSockets 0.05 MB, what `sdewan install` applies 0.05 MB, what `sdewan
 * docs` shows 0.04 MB, traces 0.05 MB, reading tars 0.03 MB, network ports 0.08 MB.
 */
export const MAX_BUNDLE_BYTES = 2_600_000;

/** English is zod's default. */
const ZOD_LANGUAGES = /node_modules\/zod\/.*\/locales\/(?!en\.|index\.)/;
const HOW_TO_IMPORT_ZOD =
  "write `import * as z from 'zod'`, because `import { z }` brings all languages and costs 6 MB of memory";

/** See there. */
const UNDICI = join(import.meta.dirname, 'undici-pool.cjs');
const undiciPool: Plugin = {
  name: 'undici-pool',
  setup: (bundler) => {
    bundler.onResolve({ filter: /^undici$/ }, () => ({ path: UNDICI }));
  },
};

/**
 * The kubeconfig reader names the folder of all API objects to get two functions from it, and its
 * package does not say that loading a file does nothing else: 370 kB of classes that are not used.
 */
const CLIENT_NODE = /\/node_modules\/@kubernetes\/client-node\/dist\//;
const clientNodeParts: Plugin = {
  name: 'client-node-parts',
  setup: (bundler) => {
    bundler.onResolve({ filter: /^\.{1,2}\// }, ({ path, importer, resolveDir }) =>
      CLIENT_NODE.test(importer)
        ? { path: resolve(resolveDir, path), sideEffects: false }
        : undefined,
    );
  },
};

/**
 * What `sdewan install` applies: a bundle has no manifests beside it. Compressed, since most of it
 * is the schemas of kinds: 300 kB.
 */
const MANIFESTS = /\/deploy\/installation\/manifests\.ts$/;
const manifestsInside: Plugin = {
  name: 'manifests-inside',
  setup: (bundler) => {
    bundler.onLoad({ filter: MANIFESTS }, () => {
      const packed = brotliCompressSync(JSON.stringify(installedManifests())).toString('base64');
      return {
        contents: `import { brotliDecompressSync } from 'node:zlib';
export const installedManifests = () => JSON.parse(brotliDecompressSync(Buffer.from('${packed}', 'base64')));`,
      };
    });
  },
};

/** Packages in CommonJS call `require` for Node's own modules; an ES module must make one. */
const REQUIRE =
  "import { createRequire as bundledRequire } from 'node:module'; const require = bundledRequire(import.meta.url);";

/**
 * Node reads every export of a built-in module that an ES module imports, also those that it loads
 * when first read. For `node:http` that is its WebSocket and with it a whole second undici: 16 MB
 * of memory and 60 ms at the start (measured, Node 26.4).
 */
const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  setup: (bundler) => {
    bundler.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'builtin' } : undefined,
    );
    bundler.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

/** The settings of every bundle of ours. */
export const SETTINGS = {
  bundle: true,
  metafile: true,
  platform: 'node',
  target: 'node26',
  format: 'esm',
  minify: true,
  keepNames: true, // stack traces and error names are read by operators
  banner: { js: REQUIRE },
  // Undici's own switch, as Node builds it: without its experimental second parser of HTTP/1.
  define: { esbuildDetection: 'true' },
  plugins: [lazyBuiltins, undiciPool, clientNodeParts, manifestsInside],
  // The texts of all licences are in a file beside it.
  legalComments: 'none',
  logLevel: 'warning',
} satisfies BuildOptions;

/**
 * Size of all files in bytes. `others`: further programs beside `main.mjs`, by name; they share
 * what they have in common.
 * @throws when an entry does not bundle, or to more than it should
 */
export const bundle = async (
  entry: string,
  folder: string,
  others: Readonly<Record<string, string>> = {},
): Promise<number> => {
  await rm(folder, { recursive: true, force: true });
  const { metafile } = await build({
    entryPoints: { main: entry, ...others },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    ...SETTINGS,
    splitting: true,
  });
  const outputs = Object.values(metafile.outputs);
  const unwanted = outputs
    .flatMap(({ inputs }) => Object.entries(inputs))
    .find(([file, { bytesInOutput }]) => bytesInOutput > 0 && ZOD_LANGUAGES.test(file));
  if (unwanted) throw new Error(`${entry} bundles ${unwanted[0]}: ${HOW_TO_IMPORT_ZOD}`);
  const size = outputs.reduce((sum, { bytes }) => sum + bytes, 0);
  if (size > MAX_BUNDLE_BYTES) {
    throw new Error(`${folder} has ${size} bytes; at most ${MAX_BUNDLE_BYTES} are expected`);
  }
  const read = outputs.flatMap(({ inputs }) => Object.keys(inputs));
  await writeLicenses(folder, [...new Set(read)]);
  return size;
};

if (import.meta.main) {
  const [entry, folder, ...others] = process.argv.slice(2);
  if (!entry || !folder) {
    process.stderr.write('usage: node deploy/images/bundle.ts ENTRY.ts FOLDER [NAME=ENTRY.ts…]\n');
    process.exitCode = 2;
  } else {
    const size = await bundle(
      entry,
      folder,
      Object.fromEntries(others.map((other) => other.split('=', 2))),
    );
    process.stdout.write(`${folder}: ${(size / 1000).toFixed(0)} kB\n`);
  }
}
