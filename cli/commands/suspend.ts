import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { openPostgresUsageStore } from '../../adapters/store/postgres/usage.js';
import { createSqliteUsageStore } from '../../adapters/store/sqlite/usage.js';
import { DomainError, invalidInput, quote } from '../../core/errors.js';
import { silentLogger } from '../../core/log.js';
import { isAddressText, parseAddressKey } from '../../core/units/address.js';
import { systemClock, toMs } from '../../core/units/time.js';
import { contractFence } from '../../core/usage/counter-names.js';
import { chainFence } from '../../core/usage/reserve-request.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import { parseChainId } from '../chain-id.js';
import { readPostgres, readStore } from '../postgres.js';
import { addNoun, show, withFormat, type Format, type Result, type Terminal } from '../terminal.js';

const patienceMs = 10_000;

/**
 * Stops signing directly in the usage store, for the platform's staff while the API server is away, and undoes it. Reads the same
 * variables as the server, so it runs wherever the rpc role runs.
 */
export function addSuspend(program: Command, terminal: Terminal): void {
  const id = `a paymasterId, "${chainFence}" for every paymaster of the chain, or contract:0x… for a contract`;
  const changes = { suspend: 'Stop signing, in the usage store itself', unsuspend: 'Undo suspend' } as const;
  for (const [name, description] of Object.entries(changes))
    onChain(program.command(name))
      .description(description)
      .argument('<id>', id)
      .requiredOption('--direct', 'open the store itself, which PAYMASTER_DATABASE_URL names')
      .action((chain: string, text: string, { output }: { readonly output: Format }) => {
        const [chainId, what] = [parseChainId(chain), parseId(text)];
        return inStore(terminal, output, async (usage) => {
          await usage.setSuspended(chainId, what, name === 'suspend');
          const { text: list, data } = listed(chainId, await usage.suspended(chainId));
          return { text: `${what} is ${name}ed\n${list}`, data };
        });
      });
  onChain(addNoun(program, 'suspension', 'What suspend has stopped').command('list'))
    .description('Show what is suspended in the usage store')
    .action((chain: string, { output }: { readonly output: Format }) => {
      const chainId = parseChainId(chain);
      return inStore(terminal, output, async (usage) => listed(chainId, await usage.suspended(chainId)));
    });
  onChain(addNoun(program, 'promise', 'Signed operations').command('list'))
    .description('Show how many signed operations of each contract can still be mined')
    .action((chain: string, { output }: { readonly output: Format }) => {
      const chainId = parseChainId(chain);
      return inStore(terminal, output, (usage) => listPromises(usage, chainId));
    });
}

function onChain(command: Command): Command {
  return withFormat(command).argument('<chainId>', 'the id of the chain');
}

async function inStore(
  terminal: Terminal,
  format: Format,
  ask: (usage: UsageStore) => Promise<Result>,
): Promise<void> {
  const store = await openStore(terminal.env);
  const deadline = setTimeout(() => void store.stop(), patienceMs);
  try {
    show(terminal, format, await ask(store));
  } finally {
    clearTimeout(deadline);
    await store.stop();
  }
}

/** An embedded store belongs to the process that has it open: the command works while none has. */
async function openStore(env: Terminal['env']): Promise<UsageStore> {
  const log = silentLogger;
  const settings = readStore(env);
  if (settings.kind === 'postgres')
    return openPostgresUsageStore({
      client: readPostgres(env, 'paymaster-command'),
      identity: 'command',
      log,
    });
  if (!existsSync(settings.path))
    throw new DomainError('NOT_FOUND', `no embedded store is at ${settings.path}`);
  return createSqliteUsageStore({ ...settings, clock: systemClock, log });
}

function parseId(text: string): string {
  const contract = /^contract:(.*)$/.exec(text)?.[1];
  const isRight =
    contract === undefined ? /^[A-Za-z0-9][\w.:/+-]{0,252}$/.test(text) : isAddressText(contract);
  if (!isRight)
    throw invalidInput({
      field: 'id',
      expected: `a paymasterId, "${chainFence}" or contract: with an address`,
      value: quote(text),
    });
  return contract === undefined ? text : contractFence(parseAddressKey(contract));
}

function listed(chainId: number, suspended: readonly string[]): Result {
  const text =
    suspended.length === 0
      ? `nothing is suspended on chain ${chainId}`
      : `suspended on chain ${chainId}:\n${suspended.map((id) => `  ${id}`).join('\n')}`;
  return { text, data: { chainId, suspended } };
}

/**
 * Promises that are signed, not mined and not expired, by paymaster contract. If a contract accepts only one key, they become void
 * when it is given another key.
 */
async function listPromises(usage: UsageStore, chainId: number): Promise<Result> {
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
  const contracts = [...live].map(([contract, { operations, until }]) => ({
    contract,
    operations,
    lastExpiresAt: new Date(until).toISOString(),
  }));
  const lines = contracts.map(
    ({ contract, operations, lastExpiresAt }) =>
      `  contract:${contract} ${operations} operations, the last expires at ${lastExpiresAt}`,
  );
  const text =
    lines.length === 0
      ? `nothing that is signed on chain ${chainId} can still be mined`
      : `signed, not mined and not expired on chain ${chainId}:\n${lines.join('\n')}`;
  return { text, data: { chainId, contracts } };
}
