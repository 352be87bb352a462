import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { repositoryRoot as root } from '../support/repository-root.js';
import { drawnIn } from '../support/drawn-states.js';

// Tests beside those of each machine compare its drawing with what its code does; see `test/support/drawn-states.ts`.

const drawn = ['core', 'adapters', 'operator', 'server']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`),
  )
  .filter((path) => path.endsWith('.ts') && drawnIn(path).length > 0);

test('ARCHITECTURE.md names the file of every drawing of states', () => {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
  expect(drawn.length).toBeGreaterThanOrEqual(6);
  expect(drawn.filter((path) => !text.includes(`\`${path}\``))).toEqual([]);
});

test.each(drawn)('the drawing of %s is seen at a glance', (path) => {
  const lines = readFileSync(join(root, path), 'utf8')
    .split('\n')
    .filter((line) => line.includes('──►'));
  expect(lines.length).toBeLessThanOrEqual(25);
  expect(lines.filter((line) => line.length > 140)).toEqual([]);
});
