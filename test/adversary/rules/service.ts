import type { ChainConfig } from '../../../core/config/chain-config.js';
import type { DecidedPolicy, Decision } from '../../../core/ledger/record.js';
import { isDomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import type { PolicyShare } from '../../../core/policy/kind.js';
import type { Refusal } from '../../../core/refusal.js';
import { toSeconds, type Clock } from '../../../core/units/time.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import type { ReserveRequest } from '../../../core/usage/reserve-request.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { createDecisionRecords } from '../../../server/decision/decision-record.js';
import { createSponsor } from '../../../server/decision/sign/sign.js';
import { createSigningBatch } from '../../../server/decision/sign/signing-batch.js';
import { sponsoredMode } from '../../../server/decision/steps/sponsored.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { serveChain } from '../../../server/view/served-chain.js';
import type { ServedPaymaster } from '../../../server/view/served-paymaster.js';
import { addressOf } from '../../build/configs.js';
import { anOperation } from '../../build/operations.js';
import { signsBy } from '../../build/signing.js';
import type { PriceFeed } from './price-feed.js';
import { senderAt } from './names.js';
import { operations, preVerificationGas, verificationGasLimit } from './written.js';

/** Made once, because its call takes long to encode. */
const anyOperation = anOperation();

export type Asked = {
  readonly paymaster: ServedPaymaster;
  readonly sender: number;
  readonly nonce: number;
  readonly operation: number;
  readonly campaign: string | undefined;
  readonly expirySeconds: number;
};

/** What the service answered, and what it asked of the store. */
export type Answered = {
  readonly result:
    | { readonly outcome: 'signed'; readonly validUntil: number }
    | { readonly outcome: 'refused'; readonly reason: string; readonly id?: string };
  /** Policies in Shadow that would have refused, as metrics hear of them. */
  readonly would: readonly string[];
  /** The record that was kept of a refusal. */
  readonly refusalRecord: readonly DecidedPolicy[] | undefined;
  /** Undefined: the store was not asked. */
  readonly planned:
    | { readonly limits: readonly PolicyShare[]; readonly recordId: string; readonly order: number }
    | undefined;
};

export type Service = ReturnType<typeof createService>;

/** The serving code from a parsed request to the answer, over a store and feeds, without HTTP. */
export function createService(clock: Clock, config: ChainConfig, feed: PriceFeed) {
  const signer = {
    address: addressOf(1),
    implementation: 'test',
    sign: signsBy(() => new Uint8Array(65).fill(27)),
  };
  const chain = serveChain(config, { get: () => signer, recover: () => undefined }, silentLogger);
  const prices = feed.open(config);
  const ids = createRecordIds(clock);
  const view = {
    chain: () => chain,
    isStale: () => false,
    addressList: () => undefined,
    isCurrent: () => true,
    refresh: async () => undefined,
  };
  const signing = createSigningBatch({ instruments: createInstruments(noMetrics) });
  const never = () => {
    throw new Error('no request of the model needs this');
  };
  const mode = sponsoredMode({
    view,
    clock,
    heads: {
      get: () => ({
        number: 1,
        timestamp: toSeconds(clock.now()),
        baseFeePerGas: 1_000_000_000n,
        priorityFeePerGas: 1_000_000_000n,
        observedAt: clock.now(),
      }),
    },
    dataFees: { get: () => undefined },
    prices,
    usage: { now: never, peek: never, capacity: never },
    estimator: { estimate: never },
    delegates: { of: never },
    hosts: { call: never },
  });

  return {
    readPrices: () => prices.read(),
    stop: () => prices.stop(),
    async ask(usage: UsageStore, asked: Asked): Promise<Answered> {
      const would: string[] = [];
      let refusalRecord: Decision | undefined;
      let planned: Answered['planned'];
      const sponsor = createSponsor(
        {
          view,
          clock,
          signing,
          usage: {
            now: () => usage.now(),
            capacity: () => usage.capacity(),
            reserve: async (request: ReserveRequest) => {
              const result = await usage.reserve({ ...request, ordered: true });
              const limits = request.limits as readonly PolicyShare[];
              planned = { limits, recordId: request.record!.id, order: result.order! };
              return result;
            },
          },
          records: createDecisionRecords({
            ids,
            refusals: { add: (_of, _reason, make) => (refusalRecord = make()) },
          }),
          wouldRefuse: ({ policyId }: Refusal) => would.push(policyId!),
        },
        mode,
      );
      const sponsored = (async () => sponsor(asked.paymaster, requestOf(asked)))();
      const result = await sponsored.then(
        (sponsorship): Answered['result'] => {
          if (sponsorship.outcome === 'sponsored')
            return { outcome: 'signed', validUntil: sponsorship.validUntil };
          const { reason, policyId } = sponsorship.refusal;
          return { outcome: 'refused', reason, ...(policyId === undefined ? {} : { id: policyId }) };
        },
        (error: unknown): Answered['result'] => {
          // An outage of the store is an error of the test: the model causes none while it asks.
          if (!isDomainError(error) || error.details.reason !== 'PRICE_STALE') throw error;
          return { outcome: 'refused', reason: 'PRICE_STALE' };
        },
      );
      return { result, would, planned, refusalRecord: refusalRecord?.policies };
    },
  };

  function requestOf({ sender, nonce, operation, campaign, expirySeconds }: Asked) {
    const { callGasLimit, maxFeePerGas } = operations[operation]!;
    const op = {
      ...anyOperation,
      sender: senderAt(sender),
      nonce,
      callGasLimit: callGasLimit.toString(),
      verificationGasLimit: verificationGasLimit.toString(),
      preVerificationGas: preVerificationGas.toString(),
      maxFeePerGas: maxFeePerGas.toString(),
      maxPriorityFeePerGas: '1000000000',
    };
    return {
      op: parseUserOperation(op, '0.6'),
      calculateGasLimits: false,
      expirySeconds,
      webhookData: {},
      requestId: 'model',
      method: 'pm_sponsorUserOperation',
      ...(campaign === undefined ? {} : { campaign }),
    };
  }
}
