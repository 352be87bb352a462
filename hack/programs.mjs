// Makes one file of each program, dist/bin/NAME.js, with chunks for what several of them share: Node takes longer to find and open a
// thousand modules than to run them. Does nothing when what was compiled has not changed.
import { execFileSync } from 'node:child_process';
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = join(dirname(fileURLToPath(import.meta.url)), '../dist');
const bin = join(dist, 'bin');
const projects = ['core', 'adapters', 'operator', 'server', 'standalone', 'cli'];
const programs = {
  operator: 'operator/main.js',
  server: 'server/main.js',
  standalone: 'standalone/main.js',
  'dev-chain': 'standalone/dev-chain/main.js',
  paymaster: 'cli/main.js',
  // Threads, by the names with which they are started.
  'sqlite-thread': 'adapters/store/ledger/sqlite-thread.js',
  'methods-thread-main': 'server/dashboard/methods-thread-main.js',
  'thread-main': 'server/what-if/thread-main.js',
};

if (!isCurrent()) await bundle();

function isCurrent() {
  const files = [...Object.keys(programs).map((name) => `${name}.js`), 'commands.json'];
  if (files.some((name) => !existsSync(join(bin, name)))) return false;
  const made = statSync(join(bin, 'server.js')).mtimeMs;
  const sources = [
    ...projects.map((project) => join(dist, project, '.tsbuildinfo')),
    fileURLToPath(import.meta.url),
    join(dist, '../package-lock.json'),
  ];
  return sources.every((source) => statSync(source).mtimeMs < made);
}

async function bundle() {
  const { rolldown } = await import('rolldown');
  rmSync(bin, { recursive: true, force: true });
  const build = await rolldown({
    input: Object.fromEntries(Object.entries(programs).map(([name, path]) => [name, join(dist, path)])),
    platform: 'node',
    // Files that are no JavaScript, beside them in their packages, and what `pg` works without.
    external: [/^(tiny-)?secp256k1\b/, 'pg-native'],
    plugins: [{ name: 'own-places', transform: { filter: { code: 'import.meta.' }, handler: keepPlace } }],
  });
  await build.write({ dir: bin, format: 'esm', chunkFileNames: 'part-[hash].js' });
  await build.close();
  // All commands of the command line, which then loads the one that is run.
  const known = execFileSync(process.execPath, ['--no-warnings', join(bin, 'paymaster.js'), 'known']);
  writeFileSync(join(bin, 'commands.json'), known);
}

/** A module that looks for files beside itself goes on to look where it was compiled to. Threads are in the same folder as the program. */
function keepPlace(code, id) {
  if (!id.startsWith(dist + sep)) return null;
  const path = relative(bin, id).split(sep).join('/');
  return code
    .replaceAll(
      /(?<!new URL\('\.\/[\w-]+\.js(?:on)?', )import\.meta\.url/g,
      `new URL('${path}', import.meta.url).href`,
    )
    .replaceAll('import.meta.dirname', `(import.meta.dirname + '/${dirname(path)}')`);
}
