import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from '@jest/globals';

const root = process.cwd();
const thirdParty = 'contracts/artifacts/third-party';

describe('licences of the packages that ship', () => {
  test('are all on the list, and NOTICE names each package', () => {
    expect(check(root)).toBe('');
    const notice = readFileSync(join(root, 'NOTICE'), 'utf8');
    expect(notice).toMatch(/^viem [\d.]+ \(MIT\)$/m);
    expect(notice).toMatch(/^ethers [\d.]+ \(MIT\)$/m);
    expect(notice).not.toContain('@uniswap');
  });

  test('a package under GPL-3.0 is refused by name, version and licence', () => {
    const output = checkCopy((copy) =>
      addPackage(copy, 'node_modules/express/node_modules/made-up', { license: 'GPL-3.0-only' }),
    );
    expect(output).toContain('made-up@1.2.3: GPL-3.0-only');
  });

  test('a package of which no licence is known is refused', () => {
    expect(checkCopy((copy) => addPackage(copy, 'node_modules/made-up', {}))).toContain(
      'made-up@1.2.3: no licence',
    );
  });

  test('a package that only development needs may have any licence', () => {
    const withIt = checkCopy((copy) =>
      addPackage(copy, 'node_modules/made-up', { license: 'BUSL-1.1', dev: true }),
    );
    expect(withIt).toBe('');
  });

  test('a package that the client library needs is refused like one of the service', () => {
    const output = checkCopy((copy) => {
      addPackage(copy, 'node_modules/made-up', { license: 'BUSL-1.1', dev: true });
      edit(join(copy, 'clients/viem/package.json'), (client) => ({
        ...client,
        dependencies: { 'made-up': '1.2.3' },
      }));
    });
    expect(output).toContain('made-up@1.2.3: BUSL-1.1');
  });

  test("a file of others' code is refused when its licence is not on the list", () => {
    const output = checkCopy((copy) =>
      edit(join(copy, thirdParty, 'EntryPointSimulations07.json'), (file) => ({
        ...file,
        license: 'BUSL-1.1',
      })),
    );
    expect(output).toContain(`${thirdParty}/EntryPointSimulations07.json: BUSL-1.1`);
  });

  test('a package that ships and is not in NOTICE is found', () => {
    const output = checkCopy((copy) => addPackage(copy, 'node_modules/made-up', { license: 'MIT' }));
    expect(output).toContain('not up to date: NOTICE');
  });
});

describe('the image', () => {
  // Contracts of others, and what reads them: @uniswap under BUSL and GPL comes with aa07, aa08 and aa09.
  const ofDevelopment =
    /^(@uniswap|@account-abstraction|@openzeppelin|@pimlico|@foundry-rs|aa0\d|hardhat|solc)/;

  test("has no package with others' contracts, wherever it lies", async () => {
    const taken = await packagesOfImage(readLock());
    expect(taken).toContain('node_modules/express');
    expect(lyingIn(taken).filter((path) => ofDevelopment.test(nameOf(path)))).toEqual([]);
  });

  test('has no development package that lies in another package', async () => {
    const { packages } = readLock();
    expect(
      lyingIn(await packagesOfImage({ packages })).filter((path) => packages[path]?.dev === true),
    ).toEqual([]);
  });

  test('would have a contract package that became a dependency of production, and the first test would find it', async () => {
    const { packages } = readLock();
    const taken = await packagesOfImage({ packages: { ...packages, 'node_modules/aa07': {} } });
    expect(taken.filter((path) => ofDevelopment.test(nameOf(path)))).toEqual(['node_modules/aa07']);
  });

  test('is built by the Dockerfile without development packages, too', () => {
    const stages = readFileSync(join(root, 'Dockerfile'), 'utf8').split(/^FROM /m);
    expect(stages.find((stage) => stage.includes(' AS dependencies\n'))).toContain(' --omit=dev ');
    const modules = stages.at(-1)?.match(/^COPY .*node_modules.*$/gm);
    expect(modules).toEqual(['COPY --from=dependencies /src/node_modules node_modules']);
  });
});

type Lock = { readonly packages: Readonly<Record<string, { readonly dev?: boolean }>> };

const readLock = (): Lock => JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;

async function packagesOfImage(lock: Lock): Promise<readonly string[]> {
  const file = pathToFileURL(join(root, 'hack/image/packages.mjs')).href;
  const module = (await import(file)) as { packagesOfImage(lock: Lock): readonly string[] };
  return module.packagesOfImage(lock);
}

/** Those folders, and all that are copied with them. */
function lyingIn(taken: readonly string[]): readonly string[] {
  const isTaken = (path: string) => taken.some((folder) => `${path}/`.startsWith(`${folder}/`));
  return Object.keys(readLock().packages).filter(isTaken);
}

const nameOf = (path: string): string =>
  path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

type Json = Readonly<Record<string, unknown>>;

/** What the check prints for a copy of the files that it reads, after `change`. */
function checkCopy(change: (copy: string) => void): string {
  const copy = mkdtempSync(join(tmpdir(), 'paymaster-licences-'));
  try {
    for (const path of ['package-lock.json', 'clients/viem/package.json', 'NOTICE', thirdParty])
      cpSync(join(root, path), join(copy, path), { recursive: true });
    change(copy);
    return check(copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function check(folder: string): string {
  try {
    execFileSync(process.execPath, [join(root, 'hack/licences.mjs'), '--check', folder], { stdio: 'pipe' });
    return '';
  } catch (error) {
    return error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error);
  }
}

function addPackage(copy: string, path: string, entry: Json): void {
  edit(join(copy, 'package-lock.json'), (lock) => ({
    ...lock,
    packages: { ...(lock['packages'] as Json), [path]: { version: '1.2.3', ...entry } },
  }));
}

function edit(file: string, change: (content: Json) => Json): void {
  writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, 'utf8')) as Json)));
}
