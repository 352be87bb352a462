import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { applyManifests } from '../../../adapters/manifests/apply-manifests.js';
import { readManifestFiles } from '../../../adapters/manifests/manifest-files.js';
import { formatProblem } from '../../../core/errors.js';
import { kinds } from '../../../core/resources/kinds.js';
import { paymaster } from '../../support/paymaster.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { startWorld } from '../world.js';
import { rightFolder, wrongFolders } from './wrong-folders.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'manifests-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

type Answer = {
  readonly ok: boolean;
  readonly leftOut: readonly { readonly what: string }[];
  readonly findings: readonly {
    readonly severity: string;
    readonly message: string;
    readonly name?: string;
    readonly line: number;
  }[];
};

async function validated(paths: readonly string[], ...options: readonly string[]): Promise<Answer> {
  const { out, status } = await paymaster(['validate', ...options, '-o', 'json', ...paths]);
  const answer: Answer = JSON.parse(out);
  expect(status).toBe(answer.ok ? 0 : 1);
  return answer;
}

function write(files: readonly string[], into = directory): void {
  files.forEach((text, n) => writeFileSync(join(into, `${String(n).padStart(2, '0')}.yaml`), text));
}

test('a folder without a mistake is fine', async () => {
  write(rightFolder);
  expect(await validated([directory])).toMatchObject({ ok: true, findings: [] });
});

test('there are at least 40 wrong folders, no two alike', () => {
  expect(new Set(wrongFolders.map(({ name }) => name)).size).toBeGreaterThanOrEqual(40);
});

test.each(wrongFolders)(
  '$name is found, with the message that the operator writes',
  async ({ files, message }) => {
    write(files);
    const { ok, findings } = await validated([directory]);
    expect(ok).toBe(false);
    expect(findings.filter(({ message: found }) => found.includes(message)).length).toBeGreaterThan(0);
    const own = (await operatorMessages()).map(withoutPlaces);
    for (const finding of findings.filter(({ severity }) => severity === 'error'))
      expect(own).toContain(withoutPlaces(finding.message));
    expect(own.some((found) => found.includes(message))).toBe(true);
  },
);

/** Every problem and every condition that is not True, after a running operator was given the folder. */
async function operatorMessages(): Promise<readonly string[]> {
  const world = await startWorld({ isEmpty: true });
  try {
    const files = await readManifestFiles(directory, new Map());
    const { problems } = await applyManifests(world.resources, files.values(), new Map());
    await world.settle();
    const lists = await Promise.all(kinds.map((kind) => world.resources.list(kind)));
    const conditions = lists.flat().flatMap(({ status }) => status?.conditions ?? []);
    return [
      ...[...files.values()].flatMap((file) => file.problems).map(formatProblem),
      ...problems.map(formatProblem),
      ...conditions.filter(({ status }) => status === 'False').map(({ message }) => message),
    ];
  } finally {
    await world.close();
  }
}

/** A duplicate's message names the other file: by name in one case and by path in the other. */
function withoutPlaces(message: string): string {
  return message.replaceAll(`${directory}/`, '');
}

test('existing objects keep their names, and are not validated', async () => {
  const there = mkdtempSync(join(tmpdir(), 'there-'));
  try {
    write(rightFolder, there);
    const [, , paymaster = ''] = rightFolder;
    write([paymaster.replace('"shop"', '"another"')]);
    const { findings } = await validated([directory], '--with', there);
    expect(findings.filter(({ severity }) => severity === 'error')).toMatchObject([
      { name: 'another', message: expect.stringContaining('Paymaster shop has the name') },
    ]);
  } finally {
    rmSync(there, { recursive: true, force: true });
  }
});

test('documents of other APIs are named and left out; one of ours in another group is a mistake', async () => {
  write([...rightFolder, 'apiVersion: apps/v1\nkind: Deployment\n---\napiVersion: v1\nkind: Paymaster\n']);
  const { leftOut, findings } = await validated([directory]);
  expect(leftOut).toMatchObject([{ what: 'apps/v1 Deployment' }]);
  expect(findings[0]?.message).toContain('apiVersion must be');
});

test('a line leads to the field that a message names', async () => {
  write([
    'apiVersion: paymasters.dev/v1alpha1\nkind: Paymaster\nmetadata: { name: shop, namespace: acme }\nspec:\n  name: Shop\n  chainId: none\n  type: HYBRID\n  version: 1.1.0\n',
  ]);
  expect((await validated([directory])).findings).toMatchObject([{ line: 6, name: 'shop' }]);
});

test('a webhook of the dev machine is fine under --dev', async () => {
  const local = wrongFolders.find(({ name }) => name === 'a webhook without TLS');
  write((local?.files ?? []).map((text) => text.replace('hooks.example.com', '127.0.0.1:9')));
  expect((await validated([directory])).ok).toBe(false);
  expect((await validated([directory], '--dev')).ok).toBe(true);
});

test('the examples of this repository are fine', async () => {
  const examples = join(repositoryRoot, 'examples');
  expect((await validated([join(examples, 'quickstart')])).ok).toBe(true);
  expect((await validated([join(examples, 'chains')])).ok).toBe(true);
  const expressions = readdirSync(join(examples, 'policies')).filter((name) =>
    name.startsWith('expression-'),
  );
  expect(expressions).toHaveLength(5);
  for (const name of expressions)
    expect(await validated([join(examples, 'quickstart'), join(examples, 'policies', name)])).toMatchObject({
      ok: true,
    });
});

test('for people there is one line per finding and a summary', async () => {
  write(rightFolder.slice(0, 3));
  expect((await paymaster(['validate', directory])).out).toBe(
    [
      `! ${join(directory, '02.yaml')}:1:72: Paymaster acme/shop: No SmartContract is registered and defaultContractAction is Allow: anything is sponsored. (OpenSponsorship=True, NoContracts)`,
      '✓ 3 objects in 3 files: 0 errors, 1 warning\n',
    ].join('\n'),
  );
});

test('a limit whose count would begin anew is a warning, where what is there is known', async () => {
  const there = mkdtempSync(join(tmpdir(), 'context-'));
  try {
    write(rightFolder, there);
    write(rightFolder.map((text) => text.replace('"threshold":"10"', '"threshold":"7"')));
    const { ok, findings } = await validated([directory], '--with', there);
    expect({ ok, findings }).toMatchObject({
      ok: true,
      findings: [
        {
          severity: 'warning',
          message: expect.stringMatching(
            /^the count begins anew: what was used of .+ operations forgotten; spec.spendingLimit.keepCount: true keeps it$/,
          ),
        },
      ],
    });
    write(rightFolder.map((text) => text.replace('"threshold":"10"', '"threshold":"7","keepCount":true')));
    expect(await validated([directory], '--with', there)).toMatchObject({ ok: true, findings: [] });
  } finally {
    rmSync(there, { recursive: true });
  }
});

test('a command that cannot run reports what is wrong with it', async () => {
  const none = join(directory, 'missing');
  expect((await paymaster(['validate', none])).error).toContain(`${none} cannot be read`);
  expect(await paymaster(['validate', directory])).toEqual({
    out: '',
    error: `error: no manifest of ours in ${directory}\n`,
    status: 2,
  });
});
