import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '../support/cluster/free-port.js';
import { commandBlocks, documents, documentsFor, scriptOf, textOf } from '../support/document-commands.js';
import { paste } from '../support/paste.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';

// Every block of commands in every document is pasted into a shell, or says why it cannot be here.
// Those for a Kubernetes API: test/kube/documents.component.test.ts.

const path = `${join(repositoryRoot, 'node_modules/.bin')}:${process.env['PATH']}`;

describe('what is not run here', () => {
  test('is little, and each block says why', () => {
    const left = documents()
      .flatMap(commandBlocks)
      .flatMap(({ file, reason }) => (reason === undefined ? [] : [`${file}: ${reason}`]));
    expect(left).toEqual([
      'README.md: it needs a cluster; docs/first-steps-kubernetes.md has what it asks for',
      'CONTRIBUTING.md: these run this test',
      'SECURITY.md: these ask the public transparency log about a published image',
      'docs/command-line.md: it names what is yours; docs/first-hour.md pastes the like',
      'docs/contracts.md: it holds what only you know; the test sets it for its chain',
      'docs/database.md: docs/one-machine.md pastes the like',
      'docs/database.md: it needs a server that was stopped, and a database',
      'docs/first-steps-kubernetes.md: it needs Docker and kind',
      'docs/first-steps-kubernetes.md: it needs pods; make e2e-first-steps pastes it on a cluster',
      'docs/first-steps-kubernetes.md: it needs pods; make e2e-first-steps pastes it on a cluster',
      'docs/first-steps-kubernetes.md: it needs pods; make e2e-first-steps pastes it on a cluster',
      'docs/first-steps-kubernetes.md: it needs pods; make e2e-first-steps pastes it on a cluster',
      'docs/first-steps-kubernetes.md: it needs Docker and kind',
      'docs/how-this-is-tested.md: it takes hours; the seed is that of your failure',
      'docs/key-rotation.md: it needs pods, and operations that are not mined yet',
      'docs/key-rotation.md: it needs pods, and a contract whose owner changes its signer',
      'docs/ledger.md: it needs the program sqlite3',
      'docs/make-run.md: these run for minutes up to an hour; the first of them runs this test',
      'docs/one-machine.md: it holds what only you know; the test sets it for its chain',
      'docs/one-machine.md: it needs Docker and the public name; the test starts the same program with the same settings behind a proxy of its own',
      'docs/one-machine.md: it needs root, systemd and the public name; systemd-analyze verifies the unit in a test',
      'charts/README.md: it needs pods',
      'charts/README.md: it needs pods',
    ]);
  });

  test('what starts the others are make run, which starts here, and make run-kube, whose parts test/kube starts', () => {
    const starting = documents()
      .flatMap(commandBlocks)
      .filter(({ runs }) => runs === 'itself');
    expect(starting.map(({ commands }) => commands.replace(/ +#.*/, ''))).toEqual([
      'make run\n',
      'make run-kube\n',
    ]);
  });

  test('blocks for pods are those of docs/first-steps-kubernetes.md that hack/first-steps.sh pastes', () => {
    expect(textOf('hack/first-steps.sh')).toContain('docs/first-steps-kubernetes.md');
  });
});

test('each target of make that a document names exists', () => {
  const targets = new Set([...textOf('Makefile').matchAll(/^([a-z0-9-]+):/gm)].map(([, name]) => name));
  const named = documents().flatMap((file) =>
    [...textOf(file).matchAll(/`make ([a-z0-9-]+)/g)].map(([, name]) => ({ file, name })),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(({ name }) => !targets.has(name))).toEqual([]);
});

test('nothing is documented that is never written', () => {
  for (const file of documents()) expect(textOf(file)).not.toContain('would-refuse');
});

describe('in a clone', () => {
  test.each(documentsFor('a clone'))(
    'the commands of %s work when pasted',
    async (file) => {
      await paste(scriptOf(file, 'a clone'), { PATH: path });
    },
    300_000,
  );

  test('make validate and the command behind it end as docs/make-run.md says', () => {
    const folder = mkdtempSync(join(tmpdir(), 'paymaster-documents-'));
    try {
      writeFileSync(join(folder, 'wrong.yaml'), 'apiVersion: paymasters.dev/v1alpha1\nkind: Chain\n');
      const validate = 'bin/paymaster';
      const exit = (command: string, ...args: string[]) =>
        spawnSync(command, args, { cwd: repositoryRoot, env: { ...process.env, PATH: path, BUILT: '1' } })
          .status;
      expect(exit(validate, 'validate', folder)).toBe(1);
      expect(exit(validate, 'validate', join(folder, 'absent'))).toBe(2);
      expect(exit('make', '-s', 'validate', `FILES=${folder}`)).toBe(2);
      const said =
        'exits with 1 where something is wrong and with 2 where it cannot judge; `make` turns both into 2';
      expect(textOf('docs/make-run.md').replaceAll(/\s+/g, ' ')).toContain(said);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe('beside make run', () => {
  let command: ChildProcess;
  let dataDirectory: string;
  let environment: Readonly<Record<string, string>>;
  let printed = '';

  beforeAll(async () => {
    dataDirectory = mkdtempSync(join(tmpdir(), 'paymaster-documents-'));
    environment = {
      PATH: path,
      PAYMASTER_DATA_DIR: dataDirectory,
      PORT: String(await freePort()),
      WEBHOOK_PORT: String(await freePort()),
      BUNDLER: '0',
      BUILT: '1',
    };
    // In a separate group, because make passes no signal on.
    const [makeRun] = commandBlocks('README.md').filter(({ runs }) => runs === 'itself');
    command = spawn('sh', ['-c', makeRun?.commands ?? 'false'], {
      cwd: repositoryRoot,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { HOME: process.env['HOME'], ...environment },
    });
    command.stdout?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    command.stderr?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
    await until('everything answers', () => {
      if (command.exitCode !== null) throw new Error(`make run ended:\n${printed}`);
      return printed.includes('Ctrl-C stops everything');
    });
  }, 600_000);

  afterAll(async () => {
    if (command?.pid !== undefined && command.exitCode === null) {
      const ended = new Promise((resolve) => command.once('close', resolve));
      process.kill(-command.pid, 'SIGINT');
      await ended;
    }
    if (existsSync(dataDirectory)) rmSync(dataDirectory, { recursive: true, force: true, maxRetries: 20 });
  });

  const answers: Readonly<Record<string, readonly (RegExp | string)[]>> = {
    'README.md': ['METHOD_NOT_WHITELISTED', /sponsored +success true/, /paid +success true/],
    'docs/command-line.md': [/^ {2}FROM +GROUP/m, '"items": [', 'nothing differs', 'nothing changes'],
    'docs/first-hour.md': [
      /sponsored +success true/,
      /LIMIT_REACHED[\s\S]*would be refused[\s\S]*would be signed/,
    ],
    'docs/gitops.md': ['0 errors, 0 warnings', 'nothing changes'],
    'docs/ledger.md': ['"wouldBeRefused":'],
    'docs/make-run.md': ['"message":"DApp registered successfully"', /"group":"counter:0xd09de08a"/],
    'docs/notifications.md': ['no notifications'],
    'docs/paymaster-keys.md': [/^ {2}partner-a +1 +[0-9a-f]{8} +winter-2026 +203\.0\.113\.0\/24$/m],
    'docs/tokens.md': ['"feeQuotes":[{', /sponsored +success true/, /paid +success true/],
    'examples/webhook-host/README.md': [
      'webhook host at',
      '"verdict":"refused","reason":"not a member of the club"',
      // It ends with a quickstart that sponsors whom the host refused.
      /"paymasterAndData":"0x[0-9a-f]{552}"[\s\S]*"WEBHOOK_REFUSED"[\s\S]*"dryRun":false[\s\S]*"paymasterAndData":"0x[0-9a-f]{552}"/,
    ],
  };

  test('each document has its answers here', () => {
    expect(documentsFor('make run').toSorted()).toEqual(Object.keys(answers).toSorted());
  });

  test.each(documentsFor('make run'))(
    'the commands of %s work when pasted',
    async (file) => {
      const output = await paste(scriptOf(file, 'make run'), environment);
      expect(output).not.toMatch(/"error":\{|"statusCode":[45]/);
      for (const answer of answers[file] ?? [])
        expect(output).toMatch(
          typeof answer === 'string' ? new RegExp(answer.replaceAll(/[[{!]/g, '\\$&')) : answer,
        );
    },
    300_000,
  );

  test('docs/ledger.md names a method as the ledger does', () => {
    expect(textOf('docs/ledger.md')).toContain('counter:0xd09de08a');
  });

  test('afterwards the quickstart still sponsors', async () => {
    const curl = printed.split('\n').find((line) => line.startsWith('curl') && line.includes('pm_sponsor'));
    expect(await paste(curl ?? 'false', environment)).toMatch(/"paymasterAndData":"0x[0-9a-f]{552}"/);
  });
});
