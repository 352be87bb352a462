import { isDomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import type { DecisionInputs } from '../../../core/ledger/record.js';
import type { ChainConfig } from '../../../core/config/chain-config.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { priced } from '../../../core/pricing/price-source.js';
import { pass, refuse, type Verdict } from '../../../core/refusal.js';
import { toAddressKey, type AddressKey } from '../../../core/units/address.js';
import { plusMs, type EpochSeconds } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import { ChainLedger } from '../../../core/usage/ledger.js';
import type {
  FollowerStep,
  Reservation,
  ReserveRequest,
  ReserveResult,
} from '../../../core/usage/usage-store.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import { tokenMode } from '../../../server/decision/in-tokens.js';
import {
  recordedVerdict,
  type DecidedInputs,
  type EndingInputs,
  type UsageAnswer,
} from '../../../server/decision/inputs.js';
import { formatInputs } from '../../../server/decision/inputs-text.js';
import type { Sponsorship } from '../../../server/decision/request.js';
import { createSponsor } from '../../../server/decision/sign.js';
import { createSigningBatch } from '../../../server/decision/signing-batch.js';
import { payerOf } from '../../../server/decision/sponsored-case.js';
import { sponsoredMode } from '../../../server/decision/sponsored.js';
import { createCommit, createFinalize } from '../../../server/decision/two-phase.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import type { ReplayConfig } from '../../../server/replay/replayer.js';
import { serveChain } from '../../../server/view/served-chain.js';
import { servePaymaster } from '../../../server/view/served-paymaster.js';
import { createSharing } from '../../../server/view/sharing.js';
import { addressOf, aChainConfig, someNow } from '../../build/configs.js';
import { aPrice, aTokenProfile, someTokenAccount, usdx } from '../../build/fee-tokens.js';
import { anOperation, anOperationWithoutLimits, execute } from '../../build/operations.js';

/** What is asked of the world, with what chain and hosts would answer. */
export type Asked = {
  readonly paymaster: number;
  readonly mode: 'SPONSORED' | 'ERC20';
  readonly phases: boolean;
  readonly sender: number;
  readonly nonce: number;
  readonly target: number;
  readonly maxFeePerGas: number;
  readonly givesLimits: boolean;
  readonly estimate: number;
  readonly reverts: boolean;
  readonly webhook: 'verified' | 'refused' | 'failed';
  readonly holding: bigint;
  readonly pays: boolean;
};

const someChain = aChainConfig({
  feeTokens: [usdx],
  profiles: ['1.1.0', 'singleton-0.7', 'hybrid-0.9'].map((version) => ({
    ...aTokenProfile(version),
    tokenSecured: true,
  })),
});

export type Ending = {
  /** Which of the live reservations, as a share of 1. */
  readonly which: number;
  readonly how: EndingInputs['how'];
  readonly actualCost: number;
};

export type Round = {
  readonly asked: readonly Asked[];
  readonly endings: readonly Ending[];
  readonly passes: number;
};

/** Recorded inputs, and the configuration under which they were recorded. */
export type Recorded = ReplayConfig & { readonly records: readonly DecisionInputs[] };

/**
 * Runs real decisions over the ledger in memory and records their inputs. The requests of a round run at the same time, and
 * between them a follower ends reservations. `passes` of a round: milliseconds until the next, 0 or more than a second, after
 * which a follower frees commits.
 */
export async function recordRounds(
  paymasters: readonly PaymasterConfig[],
  rounds: readonly Round[],
  chainConfig: ChainConfig = someChain,
): Promise<Recorded> {
  const signer = {
    address: addressOf(1),
    implementation: 'test',
    sign: (digests: readonly Uint8Array[]) => digests.map(() => new Uint8Array(65).fill(27)),
  };
  const chain = serveChain(chainConfig, { get: () => signer, recover: () => undefined }, silentLogger);
  const sharing = createSharing();
  const served = paymasters.map((config) => servePaymaster(config, sharing));
  const signing = createSigningBatch({ instruments: createInstruments(noMetrics) });
  const tokenAccount = toAddressKey(someTokenAccount);
  let now = someNow;
  let order = 0;
  let row = 0;
  const ledger = new ChainLedger(chainConfig.chainId, () => (row += 1));
  const ids = createRecordIds({ now: () => now });
  const records: DecisionInputs[] = [];
  const ended: { readonly reservation: Reservation; readonly actualCost: number | undefined }[] = [];

  const fund = (contract: AddressKey, fundingAddress?: AddressKey): void =>
    ledger.setBalance(
      fundingAddress === undefined ? { contract } : { contract, fundingAddress },
      gwei(1e15),
      now,
    );

  function add(
    paymasterId: string,
    organisation: string,
    sequence: number,
    inputs: DecidedInputs | EndingInputs,
  ): void {
    const { id, at } = ids.next();
    const { chainId } = chainConfig;
    records.push({
      kind: 'inputs',
      id,
      at,
      organisation,
      paymasterId,
      chainId,
      sequence,
      body: formatInputs(inputs),
    });
  }

  async function ask(asked: Asked): Promise<void> {
    const paymaster = served[asked.paymaster % served.length]!;
    const profile = chain.profiles.get(paymaster.version)!;
    let usage: UsageAnswer | undefined;
    let place = order;
    const answered = (request: ReserveRequest, result: ReserveResult): ReserveResult => {
      place = order += 1;
      usage = {
        outcome: result.outcome,
        plannedAt: now,
        prefundWei: request.promise.prefundWei,
        validUntil: request.promise.validUntil,
      };
      return result;
    };
    const at = now;
    const estimate = {
      callGasLimit: BigInt(asked.estimate),
      verificationGasLimit: 150_000n,
      preVerificationGas: 50_000n,
      ...(asked.reverts ? { reverted: 'out of stock' } : {}),
    };
    const seen = {
      estimated: false,
      webhooks: false,
      price: false,
      held: false,
      paid: undefined as Verdict | undefined,
      validated: undefined as Verdict | undefined,
    };
    const head = {
      number: 1,
      timestamp: Math.floor(at / 1000),
      baseFeePerGas: 1_000_000_000n,
      priorityFeePerGas: 1_000_000_000n,
      observedAt: at,
    };
    // Requests of a round overtake each other.
    const elsewhere = async <T>(answer: () => T): Promise<T> => {
      for (let turns = (asked.nonce + asked.sender) % 4; turns > 0; turns--) await Promise.resolve();
      return answer();
    };
    const deps = {
      view: {
        chain: () => chain,
        isStale: () => false,
        isCurrent: () => true,
        refresh: async () => paymaster,
      },
      clock: { now: () => at },
      heads: { get: () => head },
      dataFees: { get: () => undefined },
      estimator: { estimate: () => elsewhere(() => ((seen.estimated = true), estimate)) },
      webhooks: {
        call: () =>
          elsewhere(() => {
            seen.webhooks = true;
            return paymaster.webhooks.map(
              () => ({ verdict: asked.webhook, detail: 'as asked' }) as { verdict: 'failed'; detail: string },
            );
          }),
      },
      prices: {
        peek: () => ((seen.price = true), priced(aPrice())),
        get: async () => priced(aPrice()),
        usdPerNative: () => undefined,
      },
      tokenAccounts: { payer: () => tokenAccount, known: () => [] },
      payments: {
        ground: async () => ({ block: 0, receivers: [] }),
        holdings: () =>
          elsewhere(() => ((seen.held = true), { balance: asked.holding, allowance: asked.holding })),
        check: () =>
          elsewhere(() => (seen.paid = asked.pays ? pass : refuse('TOKEN_PAYMENT_FAILS', 'as asked'))),
      },
      accounts: { validate: () => elsewhere(() => (seen.validated = pass)) },
      signing,
      usage: {
        now: () => now,
        capacity: () => Number.POSITIVE_INFINITY,
        reserve: (request: ReserveRequest) =>
          elsewhere(() => answered(request, ledger.reserve(request, now))),
        peek: (request: ReserveRequest) =>
          elsewhere(() => {
            const peeked = ledger.peek(request, now);
            answered(request, peeked.result);
            return peeked;
          }),
      },
    };
    fund(profile.contractKey);
    const payer = payerOf(profile, paymaster);
    if (payer !== undefined) fund(profile.contractKey, payer);
    if (profile.token !== undefined) {
      fund(profile.token.contractKey);
      fund(profile.token.contractKey, tokenAccount);
    }
    const call = {
      ...(asked.givesLimits ? anOperation() : anOperationWithoutLimits()),
      sender: addressOf(0x5e00 + asked.sender),
      nonce: asked.nonce,
      callData: execute(addressOf(asked.target)),
      maxFeePerGas: asked.maxFeePerGas,
    };
    const op = parseUserOperation(call, profile.entryPointVersion);
    const plain = {
      op,
      calculateGasLimits: undefined,
      expirySeconds: undefined,
      webhookData: { secret: 'of the caller' },
      requestId: 'r',
      method: 'pm_sponsorUserOperation',
      feeToken: toAddressKey(usdx.address as `0x${string}`),
    };

    const decide = async (
      request: DecidedInputs['request'],
      deciding: () => Promise<Sponsorship>,
    ): Promise<Sponsorship | undefined> => {
      usage = undefined;
      place = order;
      Object.assign(seen, {
        estimated: false,
        webhooks: false,
        price: false,
        held: false,
        paid: undefined,
        validated: undefined,
      });
      const answer = await deciding().catch((error: unknown) => {
        // What is refused with an error is not recorded.
        if (!isDomainError(error)) throw error;
        return undefined;
      });
      if (answer === undefined) return undefined;
      const { validated, paid } = seen;
      const verdict = answer.outcome === 'sponsored' ? pass : answer.refusal;
      add(paymaster.paymasterId, paymaster.namespace, place, {
        kind: 'decided',
        mode: asked.mode,
        verdict: recordedVerdict(verdict),
        request,
        generations: { paymaster: paymaster.configGeneration, chain: chainConfig.configGeneration },
        entryPoint: profile.entryPointKey,
        now: at,
        head,
        ...(seen.estimated ? { estimate } : {}),
        ...(seen.webhooks
          ? { webhooks: paymaster.webhooks.map(({ policyId }) => ({ policyId, verdict: asked.webhook })) }
          : {}),
        ...(asked.mode === 'ERC20'
          ? {
              payment: {
                payer: tokenAccount,
                ...(seen.price ? { price: aPrice() } : {}),
                ...(seen.held ? { takeable: asked.holding } : {}),
                ...(paid === undefined ? {} : { simulated: recordedVerdict(paid) }),
              },
            }
          : {}),
        ...(validated === undefined
          ? {}
          : { validation: recordedVerdict([validated, paid ?? pass].find((one) => !one.pass) ?? pass) }),
        ...(usage === undefined ? {} : { usage }),
      });
      return answer;
    };
    const { webhookData: _, requestId: __, ...kept } = plain;
    const request = asked.mode === 'ERC20' ? kept : { ...kept, feeToken: undefined };
    const mode = { SPONSORED: sponsoredMode(deps), ERC20: tokenMode(deps) }[asked.mode] as ReturnType<
      typeof tokenMode
    >;
    if (!asked.phases || !profile.readsTail) {
      await decide(request as DecidedInputs['request'], () => createSponsor(deps, mode)(paymaster, plain));
      return;
    }
    const commit = { ...plain, phase: 'commit' } as const;
    const committed = await decide({ ...request, phase: 'commit' } as DecidedInputs['request'], () =>
      createCommit(deps, mode)(paymaster, commit),
    );
    if (committed?.outcome !== 'sponsored') return;
    const finalize = {
      ...plain,
      op: committed.op,
      calculateGasLimits: false,
      phase: 'finalize',
      committed: committed.paymasterAndData,
    } as const;
    const { webhookData: ___, requestId: ____, ...asFinalized } = finalize;
    await decide(asFinalized as DecidedInputs['request'], () =>
      createFinalize(deps, mode, mode.finalize)(paymaster, finalize),
    );
  }

  function end({ which, how, actualCost }: Ending): void {
    const live = [...ledger.reservations.all()].filter(({ promises }) => promises.length > 0);
    const entry = live[Math.floor(which * live.length)];
    const known = how === 'restored' ? ended.pop() : undefined;
    const reservation = known?.reservation ?? entry;
    if (reservation === undefined || (how === 'restored' && known === undefined)) return;
    const { key } = reservation;
    const cost = gwei(actualCost);
    const isToken = reservation.promises.some(({ mode }) => mode === 'ERC20');
    const spent = isToken ? undefined : cost;
    const part: Partial<FollowerStep> = {
      ...(how === 'settled' ? { settled: [{ key, actualCost: spent }] } : {}),
      ...(how === 'released' ? { released: [{ key }] } : {}),
      ...(how === 'forfeited' ? { forfeited: [{ key }] } : {}),
      ...(known === undefined
        ? {}
        : {
            restored: [known.reservation],
            charges: known.reservation.limits.map(({ counter, unit, until, cost: held }) => ({
              counter,
              unit,
              until,
              amount:
                known.actualCost === undefined
                  ? 0
                  : -(unit === 'COUNT' ? held : Math.min(known.actualCost, held)),
            })),
          }),
    };
    const result = ledger.advance({
      chainId: chainConfig.chainId,
      expected: ledger.cursor,
      next: { blockNumber: order, blockHash: '0x', timestamp: 0 as EpochSeconds },
      settled: [],
      released: [],
      forfeited: [],
      charges: [],
      restored: [],
      balances: [],
      ...part,
    });
    const [gone] = result.isTaken ? result.ended : [];
    const counted = { settled: spent, forfeited: Infinity, released: undefined, restored: undefined }[how];
    if (gone !== undefined) ended.push({ reservation: gone, actualCost: counted });
    const { namespace } = served.find(({ paymasterId }) => paymasterId === key.paymasterId)!;
    const { entryPoint, sender, nonce } = key;
    add(key.paymasterId, namespace, (order += 1), {
      kind: 'ending',
      how,
      entryPoint,
      sender,
      nonce,
      ...(how === 'settled' && spent !== undefined ? { actualCost: spent } : {}),
    });
  }

  let droppedAt: number = someNow;
  for (const { asked, endings, passes } of rounds) {
    if (now > droppedAt) ledger.dropCommits((droppedAt = now));
    const running = asked.map(ask);
    for (const ending of endings) {
      await Promise.resolve();
      end(ending);
    }
    await Promise.all(running);
    now = plusMs(now, passes);
  }
  return {
    paymasters,
    chains: [chainConfig],
    records: records.toSorted((a, b) => a.sequence - b.sequence || (a.id < b.id ? -1 : 1)),
  };
}
