import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { repositoryRoot as root } from '../support/repository-root.js';

// "A variant is a folder and a row", tried on a copy of the tree: a kind of policies, a unit, a kind of signers and an endpoint that
// exist nowhere else are added, and everything that they have to be follows.

/** Compiling the whole tree takes most of a minute where nothing else runs. */
const mostMs = 1_800_000;
const folder = 'core/policy/nonce-parity';
const fixtures = join(root, 'test/architecture/made-up');

/** Where each is put. */
const added = {
  'kind.ts.txt': `${folder}/kind.ts`,
  'unit.ts.txt': 'core/usage/milliether.ts',
  'signer.ts.txt': 'adapters/signer/backwards/kind.ts',
  'endpoint.ts.txt': 'server/dashboard/greeting/greeting.ts',
};

let copy: string;
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'made-up-'));
  for (const file of git(root, 'ls-files', '--cached', '--others', '--exclude-standard').split('\n'))
    if (file !== '' && existsSync(join(root, file))) bring(file);
  // Already compiled files need not be compiled again, except those that the kind changes.
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true, preserveTimestamps: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  git(copy, 'init', '--quiet');
  git(copy, 'add', '--all');
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.org'];
  git(copy, ...author, 'commit', '--quiet', '--no-verify', '--message', 'as it is');

  for (const [fixture, file] of Object.entries(added)) {
    mkdirSync(dirname(join(copy, file)), { recursive: true });
    cpSync(join(fixtures, fixture), join(copy, file));
  }
  addRow('core/policy/kinds.ts', './nonce-parity/kind.js', 'NONCE_PARITY: nonceParity');
  addRow('core/usage/units.ts', './milliether.js', 'MILLIETHER: milliether');
  addRow('adapters/signer/kinds.ts', './backwards/kind.js', 'backwards');
  addRow('server/dashboard/endpoints.ts', './greeting/greeting.js', 'greetingEndpoint');
  run('node_modules/.bin/tsc', '-b');
  run(process.execPath, 'dist/operator/generate.js');
  run(process.execPath, 'dist/standalone/generate-quickstart.js');
  run(process.execPath, 'hack/charts/generate.mjs');
}, mostMs);
afterAll(() => rmSync(copy, { recursive: true, force: true }));

test('nothing else changes but generated files', () => {
  const changed = git(copy, 'status', '--porcelain', '--untracked-files=all').split('\n').filter(Boolean);
  const files = changed.map((line) => line.slice(3));
  // Rendered only where helm is installed.
  const rendered = /^(charts\/install\.yaml|test\/charts\/golden\/.*)$/;
  const tables = [
    'adapters/signer/kinds.ts',
    'core/policy/kinds.ts',
    'core/usage/units.ts',
    'server/dashboard/endpoints.ts',
  ];
  const generated = [
    'charts/paymaster-crds/templates/paymasterpolicies.yaml',
    'crds/paymasterpolicies.yaml',
    'docs/policies.md',
    'docs/rest.md',
  ];
  expect(files.filter((file) => !rendered.test(file)).sort()).toEqual(
    [...Object.values(added), ...tables, ...generated].sort(),
  );
  // Its import, and its line.
  const counts = git(copy, 'diff', '--numstat', '--', ...tables)
    .trim()
    .split('\n');
  expect(counts.map((line) => line.split('\t')[0])).toEqual(tables.map(() => '2'));
});

test('the documents list the kind of policies and the endpoint', () => {
  expect(readFileSync(join(copy, 'docs/policies.md'), 'utf8')).toContain(
    '| `NONCE_PARITY` | Which nonces pass. | SPONSORED | yes | yes |',
  );
  expect(readFileSync(join(copy, 'docs/rest.md'), 'utf8')).toContain(
    '| `GET /manage/v1/greeting` | Greets the organisation of the token | finance, write | name | JSON |',
  );
});

test('the definition of the resource has the type, its member, and the rule that ties them', () => {
  const definition = readFileSync(join(copy, 'crds/paymasterpolicies.yaml'), 'utf8');
  expect(definition).toMatch(/- NONCE_PARITY\n/);
  expect(definition).toMatch(/nonceParity:\n +type: object\n/);
  expect(definition).toContain("(self.policyType == 'NONCE_PARITY') == has(self.nonceParity)");
});

describe('what was compiled', () => {
  let trial: Readonly<Record<string, unknown>>;
  beforeAll(() => {
    cpSync(join(fixtures, 'trial.mjs.txt'), join(copy, 'dist/trial.mjs'));
    const parsed: unknown = JSON.parse(run(process.execPath, 'dist/trial.mjs'));
    trial = { ...(parsed as object) };
  }, mostMs);

  test('the dashboard takes the kind, judges its data, and shows it', () => {
    expect(trial).toMatchObject({
      wrongBody: expect.stringContaining('policyData.parity'),
      record: { policyType: 'NONCE_PARITY', policyData: { parity: 'even' } },
    });
  });

  test('the OpenAPI document has its body and its answers', () => {
    const text = JSON.stringify(trial['openApi']);
    expect(text).toContain('"description":"Parity of the nonces that pass."');
    expect(text.split('"policyType":{"const":"NONCE_PARITY"}')).toHaveLength(1 + 2);
  });

  test('the operator compiles it, an operation that it does not refuse is signed', () => {
    expect(trial).toMatchObject({ accepted: ['Accepted'], invalidPolicies: [] });
    expect(trial['even']).toMatch(/^0x[0-9a-f]{80,}$/);
  });

  test('its hosts are asked about an operation, which is signed only when they agree', () => {
    expect(trial['hosted']).toMatchObject({
      urls: ['https://odd.example', 'https://odd.example'],
      answers: [
        { paymasterAndData: expect.stringMatching(/^0x[0-9a-f]{80,}$/) },
        { paymasterAndData: '0x', reason: 'POLICY_REFUSED' },
      ],
    });
  });

  test('limits count in the unit: they refuse, say so in it, and take only its thresholds', () => {
    expect(trial['inUnit']).toMatchObject({
      reason: 'LIMIT_REACHED',
      limits: [
        {
          thresholdType: 'MILLIETHER',
          threshold: '0 milliethers',
          needed: expect.stringMatching(/^[1-9]\d* milliethers?$/),
        },
      ],
    });
    expect(trial['wrongThreshold']).toBe(
      'spec.spendingLimit.threshold must be a whole number of milliethers, of at most 6 digits, got "0.5".',
    );
  });

  test('a profile may name a file of the kind of signers; what is wrong in one is said', () => {
    expect(trial['signer']).toMatchObject({ signed: true });
    expect(trial['wrongSigner']).toMatch(/wrong: digits must be 64 hex digits/);
  });

  test('the endpoint answers who may call it, reads its parameters, and is in the OpenAPI document', () => {
    expect(trial['greetings']).toEqual([
      [200, { data: { greeting: 'hello acme' } }],
      [200, { data: { greeting: 'hello x' } }],
      [400, expect.objectContaining({ status: 400 })],
      [401, expect.objectContaining({ status: 401 })],
    ]);
    expect(JSON.stringify(trial['openApi'])).toContain('"operationId":"getGreeting"');
  });

  test('it refuses, and explain says which policy, why, and what would make it pass', () => {
    const why = { reason: 'POLICY_REFUSED', detail: 'policy "Even only": the nonce 3 is odd' };
    expect(trial['odd']).toMatchObject({ paymasterAndData: '0x', reason: why.reason });
    expect(trial['explained']).toMatchObject({
      sponsored: false,
      reason: why.reason,
      steps: expect.arrayContaining([
        { step: 'nonce-parity', verdict: 'refuse', ...why, remedy: 'Take the next nonce.' },
      ]),
      rules: expect.arrayContaining([
        expect.objectContaining({ policyType: 'NONCE_PARITY', says: 'even nonces pass' }),
      ]),
    });
  });
});

/** A row of a table: its import, and its line at the end. */
function addRow(file: string, from: string, row: string): void {
  const text = readFileSync(join(copy, file), 'utf8');
  const name = row.split(': ').at(-1);
  const table = text.indexOf('\n} as const');
  const end = table < 0 ? text.lastIndexOf('\n];') : table;
  writeFileSync(
    join(copy, file),
    `${text.slice(0, end)}\n  ${row},${text.slice(end)}`.replace(
      /^import/m,
      `import { ${name} } from '${from}';\nimport`,
    ),
  );
}

function bring(file: string): void {
  mkdirSync(dirname(join(copy, file)), { recursive: true });
  cpSync(join(root, file), join(copy, file));
}

function git(directory: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: directory, encoding: 'utf8', maxBuffer: 2 ** 28 });
}

function run(command: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: copy,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
}
