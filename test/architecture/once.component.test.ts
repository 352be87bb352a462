import { spawn, spawnSync } from 'node:child_process';
import { once as onceOf } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';

// hack/once.sh: tests and `make test` ask for the same builds at the same time.

/** A build that ends when there is a file `go`, and notes that it was begun. */
const building = 'echo begun >>begun; until [ -e go ]; do sleep 1; done; echo done >"$1/program"';
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'once-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const script = (body: string): readonly string[] => [
  '-c',
  `set -eu; . "${repositoryRoot}/hack/once.sh"; build_into() { ${body}; }; once thing "$PWD/cache/thing" 'a thing'; cat cache/thing/program`,
];

function start(body: string) {
  const child = spawn('sh', [...script(body)], { cwd: folder });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: Buffer) => (said += String(text)));
  const ended = onceOf(child, 'close').then(([code]) => Number(code));
  return { ended, said: () => said };
}

test('who asks while another builds waits for that build, and gets it', async () => {
  const first = start(building);
  await until('the first builds', () => existsSync(join(folder, 'begun')));
  const second = start(building);
  await until('the second waits', () => second.said().includes('waiting for that'));
  writeFileSync(join(folder, 'go'), '');
  expect([await first.ended, await second.ended]).toEqual([0, 0]);
  expect(second.said()).toMatch(/done\n$/);
  expect(readFileSync(join(folder, 'begun'), 'utf8')).toBe('begun\n');
  expect(readdirSync(join(folder, 'cache'))).toEqual(['thing']);
});

test('a builder that was killed is not waited for', () => {
  writeFileSync(join(folder, 'go'), '');
  const killed = spawnSync('sh', ['-c', 'echo $$']).stdout.toString().trim();
  mkdirSync(join(folder, 'cache'));
  symlinkSync(killed, join(folder, 'cache/thing.lock'));
  expect(spawnSync('sh', [...script(building)], { cwd: folder }).status).toBe(0);
  expect(readdirSync(join(folder, 'cache'))).toEqual(['thing']);
});

test('a build that fails leaves nothing, and the next one builds', () => {
  writeFileSync(join(folder, 'go'), '');
  expect(spawnSync('sh', [...script('echo half >"$1/program"; return 3')], { cwd: folder }).status).toBe(3);
  expect(readdirSync(join(folder, 'cache'))).toEqual([]);
  expect(spawnSync('sh', [...script(building)], { cwd: folder }).status).toBe(0);
});
