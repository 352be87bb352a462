import { keccak256 } from 'ethers/crypto';
import type { Wallet } from 'ethers/wallet';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from '../../adapters/timers.js';
import type { Chain, Confirmations } from '../../core/chain/chain.js';
import { DomainError, invalidInput } from '../../core/errors.js';
import { type Address, parseAddress } from '../../core/units/address.js';
import { type Hex, isHexBytes } from '../../core/units/hex.js';
import { formatDecimal } from '../../core/units/wei.js';
import { Refused, say, type Terminal } from '../terminal.js';
import { priceStep } from './cost.js';
import type { Facts } from './facts.js';
import type { Step } from './steps.js';

type Sending = {
  readonly terminal: Terminal;
  readonly chain: Chain;
  readonly chainId: number;
  readonly wallet: Wallet;
  /** In wei. Refused above it: a node may say anything. */
  readonly maxGasPrice: bigint;
  /** When a transaction stays where it is. */
  readonly confirmations: Confirmations;
  /** How long one transaction may take to be mined. */
  readonly patienceMs: number;
  /** How many transactions the command has at most. */
  readonly atMost: number;
  /** What is there now, and what is to be done about it. The first step is sent, and then it is asked again. */
  readonly look: () => Promise<{ readonly facts: Facts; readonly steps: readonly Step[] }>;
};

const pollMs = 250;

/**
 * Sends what is missing, one transaction after the other. Nothing is sent twice: what is missing and the nonce are read from one
 * block, so that of two transactions which were made for the same state only one can be mined; and one that was sent before and
 * is neither mined nor replaced is sent again as it is, before anything else.
 */
export async function sendMissing(sending: Sending): Promise<readonly Sent[]> {
  const from = parseAddress(sending.wallet.address);
  const records = openRecords(sending.terminal, sending.chainId, from);
  try {
    await settleEarlier(sending, records, from);
    const sent: Sent[] = [];
    while (sent.length < sending.atMost) {
      const { facts, steps } = await sending.look();
      const [step] = steps;
      if (step === undefined) return sent;
      sent.push(await sendOne(sending, records, step, facts));
    }
    return sent;
  } finally {
    records.close();
  }
}

/** Forgets final transactions, and waits for those that are not mined. */
async function settleEarlier(sending: Sending, records: Records, from: Address): Promise<void> {
  const { chain, terminal } = sending;
  const kept: Sent[] = [];
  for (const earlier of records.all()) {
    const block = await minedIn(chain, earlier.hash);
    const isFinal = block !== undefined && block <= (await finalBlock(sending));
    if (isFinal) continue;
    // Another transaction took its nonce: it can never be mined.
    if (block === undefined && earlier.nonce < (await nonceAt(chain, from, 'latest'))) continue;
    kept.push(earlier);
    if (block !== undefined) continue;
    say(terminal, `${earlier.says} was sent before and is not mined: sending the same transaction again`);
    await submit(chain, earlier.raw);
    await untilMined(sending, earlier);
  }
  records.write(kept);
}

async function sendOne(sending: Sending, records: Records, step: Step, facts: Facts): Promise<Sent> {
  const { chain, chainId, terminal, wallet, maxGasPrice } = sending;
  const from = parseAddress(wallet.address);
  if (step.creates !== true && step.to === undefined)
    throw new Refused(`the contract is not made yet, and must be before: ${step.says}`);
  if ((await nonceAt(chain, from, 'pending')) !== facts.nonce)
    throw new Refused(`${from} has a transaction that is not mined yet: wait for it, and run this again`);
  const tried = await priceStep(chain, step, from, facts);
  if ('says' in tried) throw new Refused(`${step.says} would fail: ${tried.says}`);
  const { gas, maxFeePerGas, tip } = tried.cost;
  if (maxFeePerGas > maxGasPrice)
    throw new Refused(
      `gas costs up to ${formatDecimal(maxFeePerGas, 9)} gwei now, more than --max-gas-price ${formatDecimal(maxGasPrice, 9)}`,
    );
  const needed = step.value + gas * maxFeePerGas;
  if (facts.funds < needed)
    throw new Refused(
      `${from} has ${formatDecimal(facts.funds, 18)} and needs up to ${formatDecimal(needed, 18)}`,
    );
  const raw = await wallet.signTransaction({
    type: 2,
    chainId,
    nonce: facts.nonce,
    ...(step.to === undefined ? {} : { to: step.to }),
    data: step.data,
    value: step.value,
    gasLimit: gas,
    maxFeePerGas,
    maxPriorityFeePerGas: tip,
  });
  if (!isHexBytes(raw)) throw new TypeError('ethers signed a transaction that is not hex');
  const sent: Sent = { hash: keccak256(raw) as Hex, raw, nonce: facts.nonce, says: step.says };
  // Before it leaves: what was sent and not written might be sent as another transaction.
  records.write([...records.all(), sent]);
  say(terminal, `sending ${step.says}\n  ${sent.hash}`);
  await submit(chain, raw);
  await untilMined(sending, sent);
  return sent;
}

/** A node that has the transaction already says so by an error; whether it has, `untilMined` shows. */
async function submit(chain: Chain, raw: Hex): Promise<void> {
  try {
    await chain.request('eth_sendRawTransaction', [raw]);
  } catch (error) {
    if ((await chain.transaction(keccak256(raw) as Hex)) === undefined) throw error;
  }
}

async function untilMined({ chain, patienceMs }: Sending, { hash, says }: Sent): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const receipt = await readReceipt(chain, hash);
    if (receipt?.status === '0x1') return;
    if (receipt !== undefined) throw new Refused(`${says} was mined and reverted: ${hash}`);
    if (performance.now() > deadline)
      throw new DomainError(
        'UNAVAILABLE',
        `${hash} is not mined yet: run the same command again later; it sends this transaction again, and no other`,
      );
    await pause(pollMs);
  }
}

async function minedIn(chain: Chain, hash: Hex): Promise<number | undefined> {
  const receipt = await readReceipt(chain, hash);
  return receipt === undefined ? undefined : Number(receipt.blockNumber);
}

type Receipt = { readonly status: unknown; readonly blockNumber: unknown };

async function readReceipt(chain: Chain, hash: Hex): Promise<Receipt | undefined> {
  const receipt = await chain.request('eth_getTransactionReceipt', [hash]);
  if (typeof receipt !== 'object' || receipt === null) return undefined;
  return { status: undefined, blockNumber: undefined, ...receipt };
}

async function finalBlock({ chain, confirmations }: Sending): Promise<number> {
  const isNamed = typeof confirmations === 'string';
  const block = await chain.block(isNamed ? confirmations : 'latest');
  return (block?.number ?? 0) - (isNamed ? 0 : confirmations);
}

async function nonceAt(chain: Chain, address: Address, tag: 'latest' | 'pending'): Promise<number> {
  const answer = await chain.request('eth_getTransactionCount', [address, tag]);
  if (typeof answer !== 'string') throw new DomainError('UNAVAILABLE', 'the node does not say the nonce');
  return Number(answer);
}

/** A transaction that was signed, kept until its block is final: after a reorganisation the same one is sent again. */
export type Sent = { readonly hash: Hex; readonly raw: Hex; readonly nonce: number; readonly says: string };

/** Transactions of one sender on one chain. One process has them at a time. */
export type Records = {
  all(): readonly Sent[];
  /** Written before this returns. */
  write(records: readonly Sent[]): void;
  close(): void;
};

/** Throws Refused when another process has them. */
function openRecords(terminal: Terminal, chainId: number, from: Address): Records {
  const folder = join(stateFolder(terminal), 'paymaster');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `sent-${chainId}-${from.toLowerCase()}.json`);
  const lock = `${file}.lock`;
  if (!takeLock(lock) && !(isLeftOver(lock) && takeLock(lock)))
    throw new Refused(
      `another command is sending from ${from} on chain ${chainId}; if none is, remove ${lock}`,
    );
  return {
    all: () => read(file),
    write(records) {
      writeFileSync(`${file}.new`, `${JSON.stringify(records, undefined, 2)}\n`, {
        mode: 0o600,
        flush: true,
      });
      renameSync(`${file}.new`, file);
    },
    close: () => rmSync(lock, { force: true }),
  };
}

function takeLock(lock: string): boolean {
  try {
    writeFileSync(lock, `${process.pid}\n`, { flag: 'wx', mode: 0o600 });
    return true;
  } catch {
    return false;
  }
}

/** Removes the lock of a process that was killed. */
function isLeftOver(lock: string): boolean {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0);
    return false;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) return false;
    rmSync(lock, { force: true });
    return true;
  }
}

function stateFolder({ env }: Terminal): string {
  const home = env['HOME'];
  const folder = env['XDG_STATE_HOME'] ?? (home === undefined ? undefined : join(home, '.local/state'));
  if (folder === undefined || folder === '')
    throw invalidInput({
      field: 'XDG_STATE_HOME (or HOME)',
      expected: 'a folder, where sent transactions are kept until they are final',
    });
  return folder;
}

function read(file: string): readonly Sent[] {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  const records: unknown = JSON.parse(text);
  if (!Array.isArray(records) || !records.every(isSent))
    throw new Refused(`${file} is damaged: look on the chain what the sender has sent, and remove it`);
  return records;
}

function isSent(value: unknown): value is Sent {
  if (typeof value !== 'object' || value === null) return false;
  const { hash, raw, nonce, says } = value as Partial<Sent>;
  return isHexBytes(hash) && isHexBytes(raw) && Number.isSafeInteger(nonce) && typeof says === 'string';
}
