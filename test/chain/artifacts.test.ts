import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';

const folder = fileURLToPath(new URL('../../../contracts/', import.meta.url));
const sources = readdirSync(folder).filter((file) => file.endsWith('.sol'));

describe.each(sources)('%s', (file) => {
  const source = readFileSync(`${folder}${file}`, 'utf8');

  test('has an artifact made from exactly this source', () => {
    const artifact: unknown = JSON.parse(
      readFileSync(`${folder}artifacts/${file.replace(/\.sol$/, '.json')}`, 'utf8'),
    );
    expect(artifact).toMatchObject({
      sourceHash: `sha256:${createHash('sha256').update(source).digest('hex')}`,
    });
  });

  test('imports nothing, and is below 180 lines of code', () => {
    expect(source).not.toMatch(/^\s*import\b/m);
    const code = source.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('//'));
    expect(code.length).toBeLessThan(180);
  });
});

test.each(sources.filter((file) => file.includes('06')))(
  '%s: its errors carry at least 32 bytes, because shorter ones of EntryPoint 0.6 paymasters revert the bundle',
  (file) => {
    const source = readFileSync(`${folder}${file}`, 'utf8');
    const errors = [...source.matchAll(/^\s*error \w+\((.*)\);/gm)].map((match) => match[1]);
    expect(errors.length).toBeGreaterThan(3);
    expect(errors).not.toContain('');
    expect(source).not.toMatch(/revert\(|require\(|assert\(/);
  },
);
