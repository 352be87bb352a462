import { Redis } from 'ioredis';
import { chainKeys } from '../../../adapters/usage/redis/keys.js';
import { requestPart, reserveCall } from '../../../adapters/usage/redis/reserve-call.js';
import { reserveScript } from '../../../adapters/usage/redis/reserve-script.js';
import { replies } from '../../../adapters/usage/redis/script.js';
import { silentLogger } from '../../../core/log.js';
import { digestOf } from '../../../core/paymaster/digest.js';
import { scriptCommand } from '../../../adapters/redis/script-command.js';
import { TurnBatch } from '../../../adapters/usage/redis/turn-batch.js';
import type { ReserveRequest } from '../../../core/usage/usage-store.js';
import { plusSeconds, systemClock, toSeconds, type EpochMs } from '../../../core/units/time.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import { planReservation, type Promised } from '../../../server/decision/reservation.js';
import { serveChain } from '../../../server/view/served-chain.js';
import { servePaymaster } from '../../../server/view/served-paymaster.js';
import { createSharing } from '../../../server/view/sharing.js';
import { benchChainConfig, benchPaymasterConfig } from '../configs.js';
import { chainId, expirySeconds } from '../fixture.js';
import { createRequestBuilder } from '../requests.js';
import { fillBalances, openRedisUsage, type BenchRedis } from './usage.js';

type WireOperation = Readonly<Record<string, string>>;

/** Marks for the digits of the sender and the nonce; they occur nowhere else. */
const marks = { sender: 'bbbbbbbbbbb2', nonce: 'ccccccccccc3' } as const;

/** An argument that is sent unchanged, or one whose marks are replaced. */
type Part = string | { readonly pieces: readonly string[]; readonly fills: readonly (keyof typeof marks)[] };

type CallParts = {
  readonly operation: Part;
  readonly keys: readonly Part[];
  readonly terms: string;
  readonly record: Part;
};
const none: CallParts = { operation: '', keys: [], terms: '', record: '' };

/** Digits of the sender and the nonce of a request, and the paymaster's call. */
type Asked = { readonly parts: CallParts; readonly digits: Readonly<Record<keyof typeof marks, string>> };

/**
 * The reserve script as our store calls it, over one connection of the same client, sent together with the others of the turn,
 * with everything precomputed that can be known beforehand: per request only the digits of sender and nonce are filled
 * in. No deadline, no check of the server, no epoch, no windows that turn. Rejects unless it reserves.
 */
export async function openLimitReserve(
  redis: BenchRedis,
  shape: { readonly paymasters: number; readonly limits: number },
): Promise<(path: string, op: WireOperation) => Promise<void>> {
  const epoch = await prepare(redis, shape.paymasters);
  const client = new Redis(redis.url, { enableOfflineQueue: false, lazyConnect: true, protocol: 2 });
  await client.connect();
  await client.script('LOAD', reserveScript.lua);
  const calls = Array.from({ length: shape.paymasters }, (_, index) => partsOf(index, shape.limits));

  const chain = chainKeys(redis.keyPrefix, chainId, 'limit');
  const batch = new TurnBatch(async (asked: readonly Asked[]) => {
    // It has seen no epoch, so no data are too old for it and no usage counts as lost.
    const { keys, args } = reserveCall(
      asked.map(({ parts, digits }) => ({
        operation: fill(parts.operation, digits),
        keys: parts.keys.map((part) => fill(part, digits)),
        terms: parts.terms,
        record: fill(parts.record, digits),
        added: undefined,
      })),
      {
        chain,
        head: [0, epoch, 0, 0, 0],
        lost: asked.map(() => 0),
        room: { bytes: 0, signs: false },
      },
    );
    const reply = await client.sendCommand(scriptCommand('evalsha', reserveScript.sha, keys, args));
    return Array.isArray(reply) ? reply.slice(4) : [];
  });

  return async (path, op) => {
    const verdict: unknown = await batch.add({
      parts: calls[Number.parseInt(path.slice(-12), 16)] ?? none,
      digits: {
        sender: (op['sender'] ?? '').slice(-12),
        nonce: (op['nonce'] ?? '').replace(/^0x0*/, ''),
      },
    });
    if (!Array.isArray(verdict) || verdict[0] !== replies.done)
      throw new Error(`the limit was not given a reservation: ${String(verdict)}`);
  };
}

/** Balances and the epoch of the chain as our own store writes them; the epoch. */
async function prepare(redis: BenchRedis, paymasters: number): Promise<string> {
  const usage = await openRedisUsage(redis, { identity: 'limit' });
  await fillBalances(usage, paymasters, { wallets: 'own' });
  await usage.stop();
  const client = new Redis(redis.url);
  const epoch = await client.get(chainKeys(redis.keyPrefix, chainId, 'limit').epoch);
  client.disconnect();
  return epoch ?? '';
}

function partsOf(index: number, limits: number): CallParts {
  const request = requestOf(index, limits, systemClock.now());
  const { operation, keys, terms, record } = requestPart(request, true);
  return { operation: partOf(operation), keys: keys.map(partOf), terms, record: partOf(record) };
}

/** The reservation of our server for a request of the bench, with marks as sender and nonce. */
function requestOf(index: number, limits: number, now: EpochMs): ReserveRequest {
  const raw = createRequestBuilder({ calls: 1, paymasters: 1 })(1).toString('latin1');
  const { params } = JSON.parse(raw.slice(raw.indexOf('\r\n\r\n'))) as { params: [WireOperation] };
  const sender = `${(params[0]['sender'] ?? '').slice(0, -12)}${marks.sender}`;
  const parsed = parseUserOperation({ ...params[0], sender, nonce: `0x${marks.nonce}` }, '0.6');
  const { callGasLimit, verificationGasLimit, preVerificationGas } = parsed;
  if (callGasLimit === undefined || verificationGasLimit === undefined || preVerificationGas === undefined) {
    throw new Error('the requests of the bench carry all gas limits');
  }
  const op = { ...parsed, callGasLimit, verificationGasLimit, preVerificationGas };
  const chain = serveChain(
    benchChainConfig(),
    { get: () => undefined, recover: () => undefined },
    silentLogger,
  );
  // As large as those that a config store gives.
  const config = { ...benchPaymasterConfig(index, { limits, wallets: 'own' }, now), configGeneration: now };
  const served = servePaymaster(config, createSharing());
  const profile = chain.profiles.get(served.version);
  if (profile === undefined) throw new Error(`the chain of the bench has no version ${served.version}`);
  const need = profile.layout.sponsorship.need(op, profile.options);
  const promised: Promised = {
    paymaster: served,
    chain,
    profile,
    op,
    need,
    unsecured: 0n,
    promise: {
      digest: digestOf(new Uint8Array(32).fill(0xd1)),
      mode: 'SPONSORED',
      contract: profile.contractKey,
      ...(served.fundingAddress === undefined ? {} : { fundingAddress: served.fundingAddress }),
      prefundWei: need.entryPoint,
      validUntil: plusSeconds(toSeconds(now), expirySeconds),
    },
  };
  return planReservation(promised, Number.POSITIVE_INFINITY)(now);
}

function partOf(text: string): Part {
  const found = [...text.matchAll(new RegExp(`${marks.sender}|${marks.nonce}`, 'g'))];
  if (found.length === 0) return text;
  const fills = found.map(([mark]) => (mark === marks.sender ? 'sender' : 'nonce'));
  return { pieces: text.split(new RegExp(`${marks.sender}|${marks.nonce}`)), fills };
}

function fill(part: Part, digits: Readonly<Record<keyof typeof marks, string>>): string {
  if (typeof part === 'string') return part;
  let text = part.pieces[0] ?? '';
  for (let i = 0; i < part.fills.length; i++) text += digits[part.fills[i]!] + part.pieces[i + 1]!;
  return text;
}
