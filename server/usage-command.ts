import { createRedisUsageStore } from '../core/adapters/store/redis/usage.js';
import { silentLogger } from '../core/log.js';
import { Settings, SettingsError } from '../core/settings.js';
import { isAddressText, parseAddressKey } from '../core/units/address.js';
import { contractFence } from '../core/usage/counter-names.js';
import { chainFence, type UsageStore } from '../core/usage/usage-store.js';
import { readUsageSettings } from './usage-settings.js';

// Stops and resumes signing in the usage store itself: for the platform's hand while the API server is away. Reads the same
// variables as the server, so it runs wherever the rpc role runs.

const usageText = `usage: usage-command.js suspend CHAIN_ID ID
       usage-command.js resume  CHAIN_ID ID
       usage-command.js list    CHAIN_ID
ID: a paymasterId, "${chainFence}" for every paymaster of the chain, or contract:0x… for a paymaster contract`;
const patienceMs = 10_000;

type Command =
  | { readonly verb: 'suspend' | 'resume'; readonly chainId: number; readonly id: string }
  | { readonly verb: 'list'; readonly chainId: number };

/** Throws RangeError that says what is wrong. */
function parseCommand([verb = '', chain = '', id, ...rest]: readonly string[]): Command {
  if (verb !== 'suspend' && verb !== 'resume' && verb !== 'list')
    throw new RangeError(`the command must be suspend, resume or list, got "${verb}"`);
  const chainId = /^[1-9][0-9]{0,15}$/.test(chain) ? Number(chain) : Number.NaN;
  if (!Number.isSafeInteger(chainId)) throw new RangeError(`CHAIN_ID must be a chain id, got "${chain}"`);
  if (verb === 'list' && id === undefined) return { verb, chainId };
  if (verb === 'list' || rest.length > 0) throw new RangeError('there are too many arguments');
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

async function run(usage: UsageStore, command: Command): Promise<string> {
  const { chainId, verb } = command;
  if (verb !== 'list') await usage.setSuspended(chainId, command.id, verb === 'suspend');
  const ids = await usage.suspended(chainId);
  const done = verb === 'list' ? '' : `${command.id} is ${verb === 'suspend' ? 'suspended' : 'resumed'}\n`;
  if (ids.length === 0) return `${done}nothing is suspended on chain ${chainId}`;
  return `${done}suspended on chain ${chainId}:\n${ids.map((id) => `  ${id}`).join('\n')}`;
}

async function main(): Promise<string> {
  const command = parseCommand(process.argv.slice(2));
  const settings = new Settings(process.env);
  const usage = settings.finish(readUsageSettings(settings));
  if (usage.kind === 'embedded')
    throw new RangeError(
      `PAYMASTER_USAGE_STORE_URL is the embedded store ${usage.path}, which belongs to the process that has it open: pause the Paymaster or stop that process instead`,
    );
  const { replicaAcks, ...rest } = usage;
  const store = createRedisUsageStore({
    ...rest,
    ...(replicaAcks === undefined ? {} : { replicaAcks }),
    identity: 'usage-command',
    log: silentLogger,
  });
  const deadline = setTimeout(() => void store.stop(), patienceMs);
  try {
    // Whatever is wrong with the server is said by the call.
    await store.opened().catch(() => {});
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
