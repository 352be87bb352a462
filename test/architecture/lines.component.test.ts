import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { repositoryRoot as root } from '../support/repository-root.js';

// No growth for its own sake: each folder of the product has a figure, and a commit raises it only with a reason.

type Limits = Readonly<Record<string, { readonly lines?: number; readonly why?: string }>>;

let checkLines: (counts: Readonly<Record<string, number>>, limits: Limits) => readonly string[];
beforeAll(async () => {
  const file = pathToFileURL(join(root, 'hack/line-limits.mjs')).href;
  ({ checkLines } = (await import(file)) as { checkLines: typeof checkLines });
});

const why = 'A policy may have a calendar.';

describe('the lines of a folder', () => {
  test('may be as many as its figure says', () => {
    expect(
      checkLines({ core: 100, cli: 7 }, { core: { lines: 100, why }, cli: { lines: 100, why } }),
    ).toEqual([]);
  });

  test('above its figure fail, with both and what to do', () => {
    expect(
      checkLines({ core: 101, cli: 7 }, { core: { lines: 100, why }, cli: { lines: 100, why } }),
    ).toEqual([
      'core has 101 lines of code and may have 100: make something there smaller, or raise its figure in hack/lines.json with the reason.',
    ]);
  });

  test.each([
    { name: 'no figure', limits: {}, says: 'no figure in hack/lines.json' },
    { name: 'a figure without a reason', limits: { core: { lines: 100 } }, says: 'no reason' },
    {
      name: 'a reason that is not a sentence',
      limits: { core: { lines: 100, why: 'more' } },
      says: 'no reason',
    },
    {
      name: 'a figure for a name that is not a folder of the product',
      limits: { core: { lines: 100, why }, hack: { lines: 9, why } },
      says: 'not a folder of the product',
    },
  ])('with $name fail', ({ limits, says }) => {
    expect(checkLines({ core: 1 }, limits)).toEqual([expect.stringContaining(says)]);
  });

  test('of this tree are at most those of hack/lines.json, and `make lines` prints the seven folders', () => {
    const run = spawnSync(process.execPath, [join(root, 'hack/lines.mjs')], { encoding: 'utf8' });
    expect([run.status, run.stderr]).toEqual([0, '']);
    for (const folder of ['core', 'adapters', 'operator', 'server', 'standalone', 'cli', 'console'])
      expect(run.stdout).toMatch(new RegExp(`^  ${folder} +\\d+ lines in \\d+ files$`, 'm'));
  });
});
