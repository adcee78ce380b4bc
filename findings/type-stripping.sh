#!/usr/bin/env bash
# npm amaro 1.1.11 (what Node 26.10 removes types with) beside typescript 5.9.3 and the engine itself.
# The guess: a program without any type, which TypeScript takes and the engine runs, passes unchanged.
# Seen: a loop over a variable with the name `of` is refused when what it goes over begins with `[`, `(` or a template, as in
# `for (const of of [1, 2])`: "Variable declaration list cannot be empty". Over a name, or by any other variable, it passes.
# Why it matters: a bundler, the type checker and every test of bundled programs are content; only what is started from its `.ts` does not start.
set -euo pipefail
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
npm install --prefix . amaro@1.1.11 typescript@5.9.3 >log 2>&1 || { cat log; exit 2; }
cat >strip.mjs <<'EOF'
import amaro from 'amaro';
import ts from 'typescript';
import vm from 'node:vm';
const strip = (text) => amaro.transformSync(text, { mode: 'strip-only' }).code === text;
const reading = (text, read) => {
  try {
    return read(text) ? 'unchanged' : 'changed';
  } catch (error) {
    return error.message.split('\n')[0];
  }
};
for (const over of ['[1, 2]', '(list)', '`12`', 'list', "'12'", 'new Set(list)']) {
  const text = `for (const of of ${over}) seen.push(of);`;
  const { diagnostics } = ts.transpileModule(text, { reportDiagnostics: true });
  const seen = [];
  vm.runInNewContext(text, { seen, list: [1, 2], Set });
  console.log(`${text} typescript: ${diagnostics.length} errors; engine: ${seen.length} rounds; amaro: ${reading(text, strip)}`);
}
console.log('by another name:', reading('for (const one of [1, 2]) seen.push(one);', strip));
EOF
node strip.mjs | tee seen
diff - seen <<'EOF' || { echo 'changed: "<" was seen before, ">" now'; exit 1; }
for (const of of [1, 2]) seen.push(of); typescript: 0 errors; engine: 2 rounds; amaro: Variable declaration list cannot be empty
for (const of of (list)) seen.push(of); typescript: 0 errors; engine: 2 rounds; amaro: Variable declaration list cannot be empty
for (const of of `12`) seen.push(of); typescript: 0 errors; engine: 2 rounds; amaro: Variable declaration list cannot be empty
for (const of of list) seen.push(of); typescript: 0 errors; engine: 2 rounds; amaro: unchanged
for (const of of '12') seen.push(of); typescript: 0 errors; engine: 2 rounds; amaro: unchanged
for (const of of new Set(list)) seen.push(of); typescript: 0 errors; engine: 2 rounds; amaro: unchanged
by another name: unchanged
EOF
