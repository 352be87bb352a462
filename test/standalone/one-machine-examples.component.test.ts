import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { parseStandaloneConfig } from '../../standalone/config.js';
import { textOf } from '../support/document-commands.js';
import { repositoryRoot } from '../support/repository-root.js';

// What docs/one-machine.md starts. Whoever copies these must not open more than he means to.

type Container = {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly networks: { readonly inside: { readonly ipv4_address: string } };
  readonly [field: string]: unknown;
};
const compose = parse(textOf('examples/compose/compose.yaml')) as {
  readonly services: { readonly paymaster: Container; readonly caddy: Container };
};
const { paymaster, caddy } = compose.services;
const example = parseEnv(textOf('examples/compose/settings.example'));
const flags = /^SERVER_FLAGS := (.*)$/m.exec(textOf('Makefile'))?.[1]?.split(' ');

describe('the compose file', () => {
  test('publishes the ports of the proxy alone, and the service believes that proxy alone', () => {
    expect(paymaster.ports).toBeUndefined();
    expect(caddy.ports).toEqual(['80:80', '443:443', '443:443/udp']);
    const config = parseStandaloneConfig({ ...example, ...paymaster.environment }, '/');
    expect(config.proxies).toEqual([
      { address: caddy.networks.inside.ipv4_address, family: 'ipv4', prefix: 32 },
    ]);
    expect(config).toMatchObject({ publicUrl: 'https://pay.example.org', allowLoopbackWebhooks: false });
  });

  test('does not start where the public address was forgotten, and believes nobody but this machine without its proxies', () => {
    const { PAYMASTER_PUBLIC_URL: _, ...without } = example;
    expect(() => parseStandaloneConfig({ ...without, ...paymaster.environment }, '/')).toThrow(
      'without TLS anyone on the way reads keys, tokens and sessions',
    );
    const { PAYMASTER_PROXIES: __, ...forgotten } = paymaster.environment ?? {};
    const { proxies } = parseStandaloneConfig({ ...example, ...forgotten }, '/');
    expect(proxies.map(({ address }) => address)).toEqual(['127.0.0.1', '::1']);
  });

  test('gives the service nothing that it does not need', () => {
    expect(paymaster).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      command: [...(flags ?? []), 'dist/bin/standalone.js'],
    });
  });
});

describe('the systemd unit', () => {
  const unit = textOf('examples/systemd/paymaster.service');

  test('starts the program as make run does, on this machine alone', () => {
    expect(unit).toContain(`bin/node --no-warnings ${flags?.join(' ')} dist/bin/standalone.js`);
    const variables = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = '']) => line.split(' '));
    const config = parseStandaloneConfig({ ...example, ...parseEnv(variables.join('\n')) }, '/');
    expect(config).toMatchObject({
      host: '127.0.0.1',
      publicUrl: 'https://pay.example.org',
      logTo: 'stdout',
    });
  });

  const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;
  // Where systemd is not there, the two tests around this one still read the file.
  (hasSystemd ? test : test.skip)('is one that systemd takes without a word', () => {
    const folder = mkdtempSync(join(tmpdir(), 'unit-'));
    try {
      const file = join(folder, 'paymaster.service');
      writeFileSync(file, unit.replaceAll('/opt/paymaster', repositoryRoot));
      const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
        encoding: 'utf8',
      });
      expect([status, stdout, stderr]).toEqual([0, '', '']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('knows every directive by a name that systemd has, each once but the environment', () => {
    const names = [...unit.matchAll(/^([A-Z]\w+)=/gm)].map(([, name]) => name);
    expect(names.filter((name, at) => name !== 'Environment' && names.indexOf(name) !== at)).toEqual([]);
    expect(unit).toMatch(/^NoNewPrivileges=true$/m);
    expect(unit).toMatch(/^ProtectSystem=strict$/m);
  });
});

test('the Caddyfile takes the names that the compose file gives it, and hides what is for operators', () => {
  const text = textOf('examples/compose/Caddyfile');
  const names = [...text.matchAll(/\{\$(\w+)/g)].map(([, name]) => name);
  expect(new Set(names)).toEqual(new Set(Object.keys(caddy.environment ?? {})));
  expect(text).toContain('@ours path /metrics /readyz');
  // With it Caddy would believe what visitors say of TLS and of their address.
  expect(text).not.toContain('trusted_proxies');
});
