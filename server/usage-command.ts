import { openPostgresUsageStore } from '../adapters/store/postgres/usage.js';
import { silentLogger } from '../core/log.js';
import { Settings, SettingsError } from '../core/settings.js';
import { isAddressText, parseAddressKey } from '../core/units/address.js';
import { given } from '../core/units/given.js';
import { toMs } from '../core/units/time.js';
import { contractFence } from '../core/usage/counter-names.js';
import { chainFence, type UsageStore } from '../core/usage/usage-store.js';
import { readUsageSettings } from './usage-settings.js';

// Stops and resumes signing directly in the usage store, for the platform's staff while the API server is away. Reads the same
// variables as the server, so it runs wherever the rpc role runs.

const usageText = `usage: usage-command.js suspend CHAIN_ID ID
       usage-command.js resume  CHAIN_ID ID
       usage-command.js list    CHAIN_ID
       usage-command.js live    CHAIN_ID
ID: a paymasterId, "${chainFence}" for every paymaster of the chain, or contract:0x… for a paymaster contract`;
const patienceMs = 10_000;

type Command =
  | { readonly verb: 'suspend' | 'resume'; readonly chainId: number; readonly id: string }
  | { readonly verb: 'list'; readonly chainId: number }
  | { readonly verb: 'live'; readonly chainId: number };

/** Throws a RangeError that says what is wrong. */
function parseCommand([verb = '', chain = '', id, ...rest]: readonly string[]): Command {
  if (verb !== 'suspend' && verb !== 'resume' && verb !== 'list' && verb !== 'live')
    throw new RangeError(`the command must be suspend, resume, list or live, got "${verb}"`);
  const chainId = /^[1-9][0-9]{0,15}$/.test(chain) ? Number(chain) : Number.NaN;
  if (!Number.isSafeInteger(chainId)) throw new RangeError(`CHAIN_ID must be a chain id, got "${chain}"`);
  const namesNothing = verb === 'list' || verb === 'live';
  if (namesNothing && id === undefined) return { verb, chainId };
  if (namesNothing || rest.length > 0) throw new RangeError('there are too many arguments');
  return { verb, chainId, id: parseId(id ?? '') };
}

function parseId(text: string): string {
  const contract = /^contract:(.*)$/.exec(text)?.[1];
  if (contract !== undefined) {
    if (!isAddressText(contract))
      throw new RangeError(`contract: must be followed by an address, got "${contract}"`);
    return contractFence(parseAddressKey(contract));
  }
  if (!/^[A-Za-z0-9][\w.:/+-]{0,252}$/.test(text))
    throw new RangeError(`ID must be a paymasterId, "${chainFence}" or contract:0x…, got "${text}"`);
  return text;
}

/**
 * Promises that are signed, not mined and not expired, by paymaster contract. If a contract accepts only one key, they become void
 * when it is given another key.
 */
async function describeLive(usage: UsageStore, chainId: number): Promise<string> {
  const now = usage.now();
  const live = new Map<string, { operations: number; until: number }>();
  for (const { promises, folded } of await usage.reservations(chainId)) {
    const valid = [...promises, ...folded].filter(({ validUntil }) => toMs(validUntil) > now);
    for (const [contract, signed] of Map.groupBy(valid, (each) => each.contract)) {
      const { operations, until } = live.get(contract) ?? { operations: 0, until: 0 };
      const latest = Math.max(until, ...signed.map(({ validUntil }) => toMs(validUntil)));
      live.set(contract, { operations: operations + 1, until: latest });
    }
  }
  if (live.size === 0) return `nothing that is signed on chain ${chainId} can still be mined`;
  const lines = [...live].map(
    ([contract, { operations, until }]) =>
      `  contract:${contract} ${operations} operations, the last expires at ${new Date(until).toISOString()}`,
  );
  return `signed, not mined and not expired on chain ${chainId}:\n${lines.join('\n')}`;
}

async function run(usage: UsageStore, command: Command): Promise<string> {
  if (command.verb === 'live') return describeLive(usage, command.chainId);
  const { chainId, verb } = command;
  if (command.verb !== 'list') await usage.setSuspended(chainId, command.id, command.verb === 'suspend');
  const ids = await usage.suspended(chainId);
  const done =
    command.verb === 'list' ? '' : `${command.id} is ${verb === 'suspend' ? 'suspended' : 'resumed'}\n`;
  if (ids.length === 0) return `${done}nothing is suspended on chain ${chainId}`;
  return `${done}suspended on chain ${chainId}:\n${ids.map((id) => `  ${id}`).join('\n')}`;
}

async function main(): Promise<string> {
  const command = parseCommand(process.argv.slice(2));
  const settings = new Settings(process.env);
  const usage = settings.finish(readUsageSettings(settings));
  if (usage.kind === 'embedded')
    throw new RangeError(
      `PAYMASTER_DATABASE_URL is the embedded store ${usage.path}, which belongs to the process that has it open: pause the Paymaster or stop that process instead`,
    );
  const { address, passwordFile } = usage;
  const store = await openPostgresUsageStore({
    client: { address, ...given({ passwordFile }), applicationName: 'paymaster-usage-command' },
    identity: 'usage-command',
    log: silentLogger,
  });
  const deadline = setTimeout(() => void store.stop(), patienceMs);
  try {
    return await run(store, command);
  } finally {
    clearTimeout(deadline);
    await store.stop();
  }
}

try {
  process.stdout.write(`${await main()}\n`);
} catch (error) {
  if (!(error instanceof Error)) throw error;
  const advice = error instanceof RangeError ? `\n${usageText}` : '';
  const isSetting = error instanceof SettingsError;
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  process.stderr.write(`${isSetting ? 'the settings are wrong\n' : ''}${error.message}${cause}${advice}\n`);
  process.exit(1);
}
