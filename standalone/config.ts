import { resolve } from 'node:path';
import { given } from '../core/units/given.js';
import { readPlatformDefaults } from '../core/config/platform-settings.js';
import { readRefusalsPerSecond } from '../server/ledger-settings.js';
import { Settings } from '../core/settings.js';
import type { PortChoice } from './port-choice.js';

/** Settings of the standalone command; every one has a default, so that `make run` needs none. */
export type StandaloneConfig = ReturnType<typeof parseStandaloneConfig>;

const bundlerChoices = { '0': 'none', '1': 'required', installed: 'installed' } as const;

/** Parses the environment once; throws one Error that lists every mistake. */
export function parseStandaloneConfig(env: NodeJS.ProcessEnv, root: string) {
  const mistakes: string[] = [];
  const oneOf = <T extends string>(name: string, choices: readonly T[], fallback: T): T => {
    const value = env[name];
    if (value === undefined || value === '') return fallback;
    const choice = choices.find((candidate) => candidate === value);
    if (choice === undefined) mistakes.push(`${name} must be one of ${choices.join(', ')}, got "${value}"`);
    return choice ?? fallback;
  };

  const portText = env['PORT'] || '8080';
  const port = /^[0-9]{1,5}$/.test(portText) ? Number(portText) : Number.NaN;
  if (!(port >= 1 && port <= 65535))
    mistakes.push(`PORT must be a number from 1 to 65535, got "${portText}"`);

  // Two instances on one machine have two values of PORT: then nothing else is fixed unless it is given.
  const portOf = (name: string, usual: number): PortChoice => {
    const text = env[name];
    if (text === undefined || text === '')
      return env['PORT'] ? { kind: 'any' } : { kind: 'from', port: usual };
    const chosen = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
    if (!(chosen >= 1 && chosen <= 65535))
      mistakes.push(`${name} must be a number from 1 to 65535, got "${text}"`);
    return { kind: 'exact', port: chosen };
  };

  const authToken = env['PAYMASTER_AUTH_TOKEN'] || undefined;
  if (authToken !== undefined && !/^[\x21-\x7e]{16,256}$/.test(authToken)) {
    mistakes.push('PAYMASTER_AUTH_TOKEN must be 16 to 256 printable characters without blanks');
  }

  const chainRpcUrl = env['CHAIN_RPC_URL'] || undefined;
  if (
    chainRpcUrl !== undefined &&
    !(URL.canParse(chainRpcUrl) && /^https?:$/.test(new URL(chainRpcUrl).protocol))
  ) {
    mistakes.push('CHAIN_RPC_URL must be an http or https URL');
  }

  const settings = new Settings(env);
  const config = {
    /** `PAYMASTER_QUOTA_…` and `PAYMASTER_DEFAULT_CONTRACT_ACTION`, as for the operator. */
    platform: readPlatformDefaults(settings),
    host: env['HOST'] || '127.0.0.1',
    port,
    /** Databases, keys, connection.json, log. */
    dataDirectory: resolve(env['PAYMASTER_DATA_DIR'] || resolve(root, '.paymaster')),
    manifestDirectory: resolve(env['PAYMASTER_MANIFESTS'] || resolve(root, 'examples/quickstart')),
    /** `PAYMASTER_SIGNER_KEY_<FILE>`: signing keys by the file name that a profile gives; a file of that name wins. */
    signerKeys: Object.fromEntries(
      Object.entries(env).flatMap(([name, value]) =>
        name.startsWith('PAYMASTER_SIGNER_KEY_') && value !== undefined ? [[name, value]] : [],
      ),
    ),
    ...given({
      /** Dashboard token to use instead of a generated one. */
      authToken,
      /** Use this chain instead of starting anvil. */
      chainRpcUrl,
    }),
    chainPort: portOf('CHAIN_PORT', 8545),
    /** `installed`: a bundler runs beside a dev chain if it is installed. `required`: it must be. */
    bundler: bundlerChoices[oneOf('BUNDLER', ['0', '1', 'installed'], 'installed')],
    bundlerPort: portOf('BUNDLER_PORT', 4337),
    /** `process` survives kill -9; `power` also survives power loss and is slower. */
    durability: oneOf('PAYMASTER_DURABILITY', ['process', 'power'], 'process'),
    /** Whether a ledger keeps what was decided, mined and paid. */
    ledger: oneOf('PAYMASTER_LEDGER', ['on', 'off'], 'on') === 'on',
    /** Whether it also keeps what each decision was based on, for replays. */
    ledgerInputs: oneOf('PAYMASTER_LEDGER_INPUTS', ['on', 'off'], 'on') === 'on',
    refusalsPerSecond: readRefusalsPerSecond(settings),
    logLevel: oneOf('LOG_LEVEL', ['debug', 'info', 'warn', 'error'], 'info'),
    /** Where JSON log lines go: a file in the data directory, or stdout. */
    logTo: oneOf('PAYMASTER_LOG', ['file', 'stdout'], 'file'),
  };
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'));
  return settings.finish(config);
}
