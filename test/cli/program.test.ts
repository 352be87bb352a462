import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import type { Listed } from '../../cli/command-list.js';
import { runCommand, type Known } from '../../cli/program.js';
import { paymaster } from '../support/paymaster.js';
import { repositoryRoot } from '../support/repository-root.js';

test('help lists every noun, and is a result', async () => {
  const { out, error, status } = await paymaster(['--help']);
  expect({ error, status }).toEqual({ error: '', status: 0 });
  for (const noun of [
    'validate',
    'export',
    'diff',
    'apply-check',
    'status',
    'login',
    'chain',
    'contract',
    'token',
    'signer',
    'suspend',
    'unsuspend',
    'store',
    'completion',
  ])
    expect(out).toMatch(new RegExp(`^  ${noun} `, 'm'));
  expect(out).toContain('2 wrong usage, 3 unreachable');
});

test.each([
  { args: [], says: 'Usage: paymaster' },
  { args: ['chain'], says: 'Usage: paymaster chain' },
  { args: ['pay'], says: "unknown command 'pay'" },
  { args: ['chain', 'docter'], says: 'Did you mean doctor?' },
  { args: ['status', '--jsn'], says: "unknown option '--jsn'" },
  { args: ['status', '-o', 'xml'], says: 'Allowed choices are table, wide, json, yaml' },
  { args: ['validate'], says: "missing required argument 'path'" },
  { args: ['apply'], says: "required option '-f, --file <path>' not specified" },
  { args: ['validate', '/none'], says: 'error: /none cannot be read: ' },
  {
    args: ['chain', 'doctor', 'examples/chains/base.yaml'],
    says: 'PAYMASTER_RPC_URL (or --rpc-file) must be',
  },
  {
    args: ['chain', 'doctor', 'examples/chains/base.yaml', '--rpc-file', '/none'],
    says: '/none cannot be read',
  },
])('$args is wrong usage', async ({ args, says }) => {
  const { out, error, status } = await paymaster(
    args.map((word) => word.replace(/^examples/, join(repositoryRoot, 'examples'))),
  );
  expect({ out, status }).toEqual({ out: '', status: 2 });
  expect(error).toContain(says);
});

test('what does not answer is neither wrong usage nor a finding, and the key in its URL is not shown', async () => {
  const file = join(repositoryRoot, 'examples/chains/base.yaml');
  const env = { PAYMASTER_RPC_URL: 'http://127.0.0.1:1/secret' };
  const { error, status } = await paymaster(['chain', 'doctor', file], env);
  expect(status).toBe(3);
  expect(error).toMatch(/^error: chain 8453: eth_chainId failed at 127\.0\.0\.1:1: ECONNREFUSED$/m);
  expect(error).not.toContain('secret');
});

test.each(['paymaster', 'kubectl-paymaster'])('bin/%s starts it on the pinned Node.js', (name) => {
  const { stdout, status } = spawnSync(join(repositoryRoot, 'bin', name), ['--version'], {
    encoding: 'utf8',
  });
  const { version } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  expect({ stdout, status }).toEqual({ stdout: `${version}\n`, status: 0 });
});

describe('the program that is built', () => {
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    spawnSync(join(repositoryRoot, 'bin/paymaster'), args, {
      encoding: 'utf8',
      env: { ...process.env, XDG_CONFIG_HOME: '/none', ...env },
    });

  /** Size of all that Node has loaded of us. */
  function loadedBytes(args: readonly string[]): number {
    const folder = mkdtempSync(join(tmpdir(), 'loaded-'));
    run(args, { NODE_V8_COVERAGE: folder });
    const [report = ''] = readdirSync(folder);
    const { result } = JSON.parse(readFileSync(join(folder, report), 'utf8')) as {
      result: { url: string }[];
    };
    rmSync(folder, { recursive: true });
    const own = [...new Set(result.map(({ url }) => url))].filter((url) => url.includes('/dist/'));
    expect(own.length).toBeGreaterThan(0);
    return own.reduce((sum, url) => sum + statSync(fileURLToPath(url)).size, 0);
  }

  test.each([
    { args: ['complete', '--', 'decision', ''], kilobytes: 20 },
    { args: ['--version'], kilobytes: 400 },
    { args: ['--help'], kilobytes: 400 },
    { args: ['validate', '--help'], kilobytes: 400 },
    { args: ['contract', 'deploy', '--help'], kilobytes: 400 },
    { args: ['usage'], kilobytes: 600 },
    { args: ['context', 'list'], kilobytes: 600 },
  ])('$args loads at most $kilobytes kB of the 10 MB', ({ args, kilobytes }) => {
    expect(Math.round(loadedBytes(args) / 1000)).toBeLessThanOrEqual(kilobytes);
  });

  test.each([
    [['']],
    [['chain', '']],
    [['decision', 'list', '--verdict', '']],
    [['validate', '-o', '']],
    [['contract', 'deploy', '--']],
  ])('offers after %j what the commands themselves offer', async (words) => {
    const { out } = await paymaster(['complete', '--', ...words]);
    expect(run(['complete', '--', ...words]).stdout).toBe(out);
    expect(out).not.toBe('');
  });

  test.each([
    [['--help']],
    [['nope']],
    [['chain', 'list', '--help']],
    [['contract', 'add', '--help']],
    [['token', '-h']],
    [['chain', 'nope', '--help']],
  ])('answers %j as if everything was loaded', async (args) => {
    const whole = await paymaster(args);
    const { stdout, stderr, status } = run(args);
    expect({ out: stdout, error: stderr, status }).toEqual(whole);
  });
});

test('the help of every command is what the command itself would show', async () => {
  const known = JSON.parse(readFileSync(join(repositoryRoot, 'dist/bin/commands.json'), 'utf8')) as Known;
  const all: (readonly string[])[] = [];
  const collect = ({ commands }: Listed, path: readonly string[]): void => {
    for (const each of commands) {
      all.push([...path, each.name]);
      collect(each, [...path, each.name]);
    }
  };
  collect(known.program, []);
  expect(all.length).toBeGreaterThan(100);
  let out = '';
  const terminal = {
    env: {},
    out: (text: string) => (out += text),
    error: (text: string) => (out += text),
    readSecret: () => Promise.resolve(''),
  };
  for (const path of all) {
    out = '';
    expect(await runCommand([...path, '--help'], terminal, known)).toBe(0);
    expect(out).toBe((await paymaster([...path, '--help'])).out);
  }
});

describe('completion', () => {
  test.each([
    { words: ['chai'], offered: ['chain'] },
    { words: ['chain', ''], offered: ['doctor', 'list', 'tokens', '--help'] },
    { words: ['chain', 'doctor', '--r'], offered: ['--rpc-file'] },
    { words: ['validate', '-o', ''], offered: ['table', 'wide', 'json', 'yaml'] },
    { words: ['validate', '--with', ''], offered: [] },
    { words: ['completion', 'z'], offered: ['zsh'] },
    { words: ['complet'], offered: ['completion'] },
  ])('after $words come $offered', async ({ words, offered }) => {
    const { out } = await paymaster(['complete', '--', ...words]);
    expect(out.split('\n').filter((line) => line !== '')).toEqual(offered);
  });

  test('works in bash', () => {
    const script = `source <(paymaster completion bash)
      COMP_WORDS=(paymaster chain doc) COMP_CWORD=2; _paymaster; echo "\${COMPREPLY[@]}"`;
    const env = { ...process.env, PATH: `${join(repositoryRoot, 'bin')}:${process.env['PATH']}` };
    expect(spawnSync('bash', ['-c', script], { encoding: 'utf8', env }).stdout).toBe('doctor\n');
  });
});
