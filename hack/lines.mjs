// Prints how large the project is: lines without comments and blank ones, by what they are for. Fails when a folder of the product has
// more than hack/lines.json allows.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkLines } from './line-limits.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const product = ['core', 'adapters', 'operator', 'server', 'standalone', 'cli', 'console'];
const generated =
  /^(crds|contracts\/artifacts|test\/charts\/golden)\/|^charts\/install\.yaml$|^charts\/[\w-]*crds\/|^docs\/(conditions|errors)\.md$|^console\/src\/answers\.ts$|^package-lock\.json$|^NOTICE$/;

const files = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((path) => path !== '')
  .map((path) => ({ path, kind: kindOf(path) }))
  .filter(({ kind }) => kind !== undefined)
  .map((file) => ({ ...file, ...count(readFileSync(join(root, file.path), 'utf8')) }));

const code = files.filter(({ kind }) => product.includes(kind));
print('product', code);
for (const kind of product)
  print(
    `  ${kind}`,
    code.filter((file) => file.kind === kind),
  );
for (const kind of ['tests', 'charts and scripts', 'documentation', 'generated'])
  print(
    kind,
    files.filter((file) => file.kind === kind),
  );

const byLength = code.toSorted((a, b) => b.all - a.all);
const long = byLength.filter(({ all }) => all > 350);
console.log(
  `\nfiles of the product: ${code.length}, the median has ${byLength[code.length >> 1]?.all} lines, the largest ${byLength[0]?.all} (${byLength[0]?.path})`,
);
console.log(
  `above 350 lines: ${long.length === 0 ? 'none' : long.map(({ path, all }) => `${path} (${all})`).join(', ')}`,
);

const counts = Object.fromEntries(
  product.map((folder) => [folder, sumLines(code.filter(({ kind }) => kind === folder))]),
);
const problems = checkLines(counts, JSON.parse(readFileSync(join(root, 'hack/lines.json'), 'utf8')));
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

function kindOf(path) {
  const [folder = ''] = path.split('/');
  if (generated.test(path)) return 'generated';
  if (path.endsWith('.md')) return 'documentation';
  if (folder === 'test') return 'tests';
  if (product.includes(folder)) return /\.(tsx?|css)$/.test(path) ? folder : undefined;
  return /\.(ts|mjs|sh|ya?ml|tpl|sol)$/.test(path) || ['Makefile', 'Dockerfile'].includes(path)
    ? 'charts and scripts'
    : undefined;
}

/** `lines`: without comments and blank ones. `all`: every line. */
function count(text) {
  const all = text.split('\n');
  let inComment = false;
  const lines = all.filter((line) => {
    const trimmed = line.trim();
    if (inComment) {
      inComment = !trimmed.includes('*/');
      return false;
    }
    if (trimmed.startsWith('/*')) {
      inComment = !trimmed.includes('*/');
      return false;
    }
    return trimmed !== '' && !trimmed.startsWith('//') && !trimmed.startsWith('# ');
  }).length;
  return { lines, all: all.length - 1 };
}

function print(name, some) {
  if (some.length === 0) return;
  console.log(`${name.padEnd(20)} ${String(sumLines(some)).padStart(7)} lines in ${some.length} files`);
}

function sumLines(some) {
  return some.reduce((sum, file) => sum + file.lines, 0);
}
