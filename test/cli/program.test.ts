import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
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
  { args: ['status', '-o', 'xml'], says: 'Allowed choices are table, json, yaml' },
  { args: ['validate'], says: "missing required argument 'path'" },
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
  expect({ stdout, status }).toEqual({ stdout: '0.1.0\n', status: 0 });
});

describe('completion', () => {
  test.each([
    { words: ['chai'], offered: ['chain'] },
    { words: ['chain', ''], offered: ['doctor', 'list', 'tokens', '--help'] },
    { words: ['chain', 'doctor', '--r'], offered: ['--rpc-file'] },
    { words: ['validate', '-o', ''], offered: ['table', 'json', 'yaml'] },
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
