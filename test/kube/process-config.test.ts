import { execFileSync } from 'node:child_process';
import { describe, expect, test } from '@jest/globals';
import { SettingsError, settingsHelp, type SettingRows } from '../../core/settings.js';
import { operatorSettings, parseOperatorConfig } from '../../operator/config.js';
import { parseServerConfig, serverSettings } from '../../server/config.js';
import { parseStandaloneConfig } from '../../standalone/config.js';
import { programFile } from '../support/program.js';

const inPod = {
  KUBERNETES_SERVICE_HOST: '10.0.0.1',
  KUBERNETES_SERVICE_PORT: '443',
  PAYMASTER_KEY_DIR: '/keys',
};
const dataPlane = { PAYMASTER_SIGNER_DIR: '/signers', PAYMASTER_CHAIN_URL_DIR: '/chains' };
const operator = { ...inPod, ...dataPlane, PAYMASTER_PUBLIC_RPC_URL: 'https://rpc.example.com/' };
const database = 'postgresql://app@db.example.com/paymaster';
const server = { ...inPod, ...dataPlane, PAYMASTER_DATABASE_URL: database };

/** Lines of the error, sorted; fails when the settings are accepted. */
function mistakesOf(parse: () => unknown): readonly string[] {
  try {
    parse();
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError);
    return (error as SettingsError).message.split('\n').toSorted();
  }
  throw new Error('the settings were accepted');
}

describe('the operator', () => {
  test('needs few settings in a pod, and fills in the rest', () => {
    expect(parseOperatorConfig(operator)).toMatchObject({
      port: 8080,
      logLevel: 'info',
      kube: { from: 'service-account', files: { host: '10.0.0.1', port: '443' } },
      namespace: 'paymaster-system',
      leaseName: 'paymaster-operator',
      publicRpcUrl: 'https://rpc.example.com',
      webhookRules: { allowHttp: false, allowLoopback: false },
    });
  });

  test('has the quotas and defaults of the platform, as the dashboard has; without any it grants all', () => {
    const platform = {
      PAYMASTER_QUOTA_PAYMASTERS: '500',
      PAYMASTER_QUOTA_POLICIES_PER_PAYMASTER: '0',
      PAYMASTER_DEFAULT_CONTRACT_ACTION: 'Deny',
    };
    const quotas = { paymasters: 500, policiesPerPaymaster: 0 };
    expect(parseOperatorConfig({ ...operator, ...platform }).platform).toEqual({
      quotas,
      defaultContractAction: 'Deny',
    });
    expect(parseServerConfig({ ...server, ...platform }).quotas).toEqual(quotas);
    expect(parseOperatorConfig(operator).platform).toEqual({ quotas: {}, defaultContractAction: 'Allow' });
    expect(
      mistakesOf(() => parseOperatorConfig({ ...operator, PAYMASTER_DEFAULT_CONTRACT_ACTION: 'deny' })),
    ).toEqual(['PAYMASTER_DEFAULT_CONTRACT_ACTION must be one of Allow, Deny, got "deny"']);
  });

  test('reports all mistakes at once, and never quotes a URL, which may hold a key', () => {
    const wrong = {
      PORT: 'eighty',
      LOG_LEVEL: 'loud',
      PAYMASTER_PUBLIC_RPC_URL: 'ftp://user:secret@host',
      PAYMASTER_TENANT_GRANT: 'tenant',
      PAYMASTER_WEBHOOK_ALLOW_HTTP: 'yes',
    };
    const mistakes = mistakesOf(() => parseOperatorConfig(wrong));
    expect(mistakes.map((line) => line.split(' ')[0])).toEqual([
      'KUBECONFIG',
      'LOG_LEVEL',
      'PAYMASTER_CHAIN_URL_DIR',
      'PAYMASTER_KEY_DIR',
      'PAYMASTER_PUBLIC_RPC_URL',
      'PAYMASTER_SIGNER_DIR',
      'PAYMASTER_TENANT_GRANT',
      'PAYMASTER_WEBHOOK_ALLOW_HTTP',
      'PORT',
    ]);
    expect(mistakes.join()).toContain('PORT must be a whole number from 0 to 65535, got "eighty"');
    expect(mistakes.join()).not.toContain('secret');
  });

  test.each(['role/account', undefined])('grants by a role and an account: %s', (grant) => {
    const { tenantAccess } = parseOperatorConfig({ ...operator, PAYMASTER_TENANT_GRANT: grant });
    expect(tenantAccess).toEqual(grant && { clusterRole: 'role', serviceAccount: 'account' });
  });

  test.each(['role', 'role/', '/account', 'role/account/more'])('refuses the grant %s', (grant) => {
    const wrong = { ...operator, PAYMASTER_SECRETS_GRANT: grant };
    expect(mistakesOf(() => parseOperatorConfig(wrong))).toEqual([
      `PAYMASTER_SECRETS_GRANT must be CLUSTER_ROLE/SERVICE_ACCOUNT, got "${grant}"`,
    ]);
  });
});

/** Hands out settings that are right, and notes which are read. */
function noting(values: Readonly<Record<string, string>>, read: Set<string>) {
  return new Proxy(values, {
    get: (target, name: string) => {
      read.add(name);
      return target[name];
    },
  });
}

test.each<{ name: string; tables: Record<string, SettingRows>; parse: (env: typeof server) => unknown }>([
  { name: 'operator', tables: operatorSettings, parse: parseOperatorConfig },
  { name: 'server', tables: serverSettings, parse: parseServerConfig },
])('--help of the $name has every setting that it reads, once, and no other', ({ name, tables, parse }) => {
  const read = new Set<string>();
  const right = name === 'operator' ? operator : server;
  parse(noting(right, read) as typeof server);
  const printed = settingsHelp(name, tables)
    .match(/^ {2}[A-Z][A-Z_]+/gm)!
    .map((line) => line.trim());
  expect(printed.toSorted()).toEqual([...read].toSorted());
});

describe.each<{
  name: string;
  parse: (env: Record<string, string>) => unknown;
  right: Record<string, string>;
}>([
  { name: 'operator', parse: parseOperatorConfig, right: operator },
  { name: 'server', parse: parseServerConfig, right: server },
  {
    name: 'dashboard',
    parse: (env) => parseServerConfig({ ...env, PAYMASTER_ROLES: 'dashboard' }),
    right: server,
  },
  { name: 'standalone command', parse: (env) => parseStandaloneConfig(env, '/'), right: {} },
])('the $name', ({ parse, right }) => {
  test('refuses a name of ours that no table has, and says which is nearest', () => {
    const wrong = { ...right, PAYMASTER_QUOTA_PAYMASTER: '5', PAYMASTER_DEFAULT_CONTACT_ACTION: 'Deny' };
    expect(mistakesOf(() => parse(wrong))).toEqual([
      'PAYMASTER_DEFAULT_CONTACT_ACTION is not a setting of this process; the nearest is PAYMASTER_DEFAULT_CONTRACT_ACTION',
      'PAYMASTER_QUOTA_PAYMASTER is not a setting of this process; the nearest is PAYMASTER_QUOTA_PAYMASTERS',
    ]);
  });

  test('ignores names of others, and what is empty', () => {
    const others = { PATH: '/bin', PAYMASTERS: '1', PAYMASTER_URL: 'https://x', PAYMASTER_TEST_STEPS: '9' };
    expect(() => parse({ ...right, ...others, PAYMASTER_QUOTA: '' })).not.toThrow();
  });
});

test.each([
  { process: 'operator' as const, tables: operatorSettings },
  { process: 'server' as const, tables: serverSettings },
])('the $process prints it without any setting, and ends', ({ process: name, tables }) => {
  const printed = execFileSync(process.execPath, [programFile(name), '--help'], {
    env: {},
    encoding: 'utf8',
  });
  expect(printed).toBe(settingsHelp(name, tables));
});

describe('a server', () => {
  test('has both roles unless told otherwise', () => {
    expect(parseServerConfig(server)).toMatchObject({
      roles: ['rpc', 'dashboard'],
      maxStalenessMs: 21_600_000,
      trustedProxies: 0,
      callLimits: {
        rateLimit: { requests: 40, perSeconds: 2 },
        addressRateLimit: { requests: 100, perSeconds: 1 },
      },
      usage: {
        kind: 'postgres',
        address: {
          host: 'db.example.com',
          port: 5432,
          database: 'paymaster',
          user: 'app',
          tls: { mode: 'verify-full' },
        },
      },
    });
  });

  test('of the dashboard role needs neither signing keys nor chain URLs', () => {
    const dashboard = {
      ...inPod,
      PAYMASTER_ROLES: 'dashboard',
      PAYMASTER_DATABASE_URL: database,
    };
    expect(parseServerConfig(dashboard)).not.toHaveProperty('signerDirectory');
    expect(mistakesOf(() => parseServerConfig({ ...dashboard, PAYMASTER_ROLES: 'rpc' }))).toHaveLength(2);
  });

  test.each([
    { url: 'file:/var/lib/paymaster/usage.db', want: '/var/lib/paymaster/usage.db' },
    { url: 'file:///var/lib/paymaster/usage.db', want: '/var/lib/paymaster/usage.db' },
  ])('may use the embedded usage store: $url', ({ url, want }) => {
    const { usage } = parseServerConfig({ ...server, PAYMASTER_DATABASE_URL: url });
    expect(usage).toEqual({ kind: 'embedded', path: want, durability: 'power' });
  });

  test.each([
    { name: 'an address without a database, unquoted', url: 'postgresql://app:secret@db.example.com/' },
    { name: 'another scheme', url: 'redis://:secret@redis:6379' },
    { name: 'a relative file', url: 'file:usage.db' },
  ])('refuses $name', ({ url }) => {
    const mistakes = mistakesOf(() => parseServerConfig({ ...server, PAYMASTER_DATABASE_URL: url }));
    expect(mistakes).toHaveLength(1);
    expect(mistakes[0]).toMatch(/^PAYMASTER_DATABASE_URL(: database)? must be/);
    expect(mistakes[0]).not.toContain('secret');
  });

  test('reads password and certificates from files, which do not change what is verified', () => {
    const files = {
      PAYMASTER_DATABASE_PASSWORD_FILE: '/db/password',
      PAYMASTER_DATABASE_CA_FILE: '/db/ca.crt',
      PAYMASTER_DATABASE_CERT_FILE: '/db/tls.crt',
      PAYMASTER_DATABASE_KEY_FILE: '/db/tls.key',
    };
    expect(parseServerConfig({ ...server, ...files }).usage).toMatchObject({
      passwordFile: '/db/password',
      address: {
        tls: { mode: 'verify-full', caFile: '/db/ca.crt', certFile: '/db/tls.crt', keyFile: '/db/tls.key' },
      },
    });
    const { PAYMASTER_DATABASE_KEY_FILE: _none, ...withoutKey } = files;
    expect(mistakesOf(() => parseServerConfig({ ...server, ...withoutKey }))).toEqual([
      'PAYMASTER_DATABASE_CERT_FILE and PAYMASTER_DATABASE_KEY_FILE must be given together',
    ]);
  });

  test('refuses a role that does not exist', () => {
    expect(mistakesOf(() => parseServerConfig({ ...server, PAYMASTER_ROLES: 'rpc,admin' }))).toEqual([
      'PAYMASTER_ROLES must be a list of rpc, dashboard, got "rpc,admin"',
    ]);
  });
});
