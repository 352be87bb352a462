import { isDomainError } from '../../core/errors.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import type { DecisionInputs } from '../../core/ledger/record.js';
import { silentLogger } from '../../core/log.js';
import type { RecoverAddress, Signer } from '../../core/paymaster/signer.js';
import type { AddressList } from '../../core/policy/address-list.js';
import type { Refusal } from '../../core/refusal.js';
import { sharesOf } from '../../core/policy/derived.js';
import { parseAddress, zeroAddress } from '../../core/units/address.js';
import { gwei, gweiToWei } from '../../core/units/wei.js';
import type { ReservationKey } from '../../core/usage/reservation.js';
import type { DecidedInputs, EndingInputs, Inputs } from '../decision/inputs.js';
import { parseInputs } from '../decision/inputs-text.js';
import { countable } from '../decision/reservation.js';
import { serveChain, type ServedChain } from '../view/served-chain.js';
import { servePaymaster, type ServedPaymaster } from '../view/served-paymaster.js';
import { forCampaign } from '../view/campaigns.js';
import { createSharing } from '../view/sharing.js';
import { createDeciders, type Deciders } from './deciders.js';
import type { PastPromise } from './history.js';
import { NotRecorded, recordedPorts, type Current } from './recorded-ports.js';
import { AsRecorded, ReplayedUsage } from './replayed-usage.js';
import type { Decided, Findings, NotReplayed } from './result.js';
import { Tally } from './tally.js';

/** The configuration that decides, as plain JSON. */
export type ReplayConfig = {
  readonly paymasters: readonly PaymasterConfig[];
  readonly chains: readonly ChainConfig[];
  /** The lists of addresses that they name; absent: none. */
  readonly lists?: readonly AddressList[];
};

type OfChain = { readonly usage: ReplayedUsage; readonly deciders: Deciders };

/**
 * Decides recorded operations again, by the product's own steps, under another configuration. Give it the past first,
 * then all inputs of one chain after the other, each in the order of their numbers.
 */
export class Replayer {
  readonly #tally = new Tally();
  readonly #paymasters: ReadonlyMap<string, ServedPaymaster>;
  readonly #chains: ReadonlyMap<number, ServedChain>;
  readonly #lists: Current['lists'];
  readonly #ofChains = new Map<number, OfChain>();
  /** Newly refused operations that have not ended, so that what they cost can be told. */
  readonly #unspent = new Set<string>();
  #current: Current | undefined;
  readonly #past: PastPromise[] = [];
  /** The last recorded price, by chain. */
  readonly #usdPerNative = new Map<number, bigint>();

  constructor({ paymasters, chains, lists = [] }: ReplayConfig, recover: RecoverAddress) {
    const sharing = createSharing();
    this.#lists = new Map(lists.map(({ hash, addresses }) => [hash, new Set(addresses)]));
    const signers = { get: () => noSigner, recover };
    this.#paymasters = new Map(
      paymasters.map((config) => [config.paymasterId, servePaymaster(config, sharing)]),
    );
    this.#chains = new Map(
      chains.map((config) => [config.chainId, serveChain(config, signers, silentLogger)]),
    );
  }

  /**
   * Counts what was promised before the range: what was mined by then as spent, the rest as live. Its price in dollars was not
   * recorded: it counts at the first price of the range.
   */
  addPast(past: PastPromise): void {
    this.#past.push(past);
  }

  #countPast(): void {
    for (const past of this.#past.splice(0)) this.#count(past);
  }

  #count({ key, at, campaign, maxCostWei, validUntil, spentWei }: PastPromise): void {
    const paymaster = this.#paymasters.get(key.paymasterId);
    if (paymaster === undefined) return;
    const limits = sharesOf(forCampaign(paymaster, campaign), 'SPONSORED', {
      sender: key.sender,
      cost: { wei: maxCostWei, usdPerNative: this.#usdPerNative.get(key.chainId) ?? 0n },
      now: at,
    });
    const { usage } = this.#of(key.chainId);
    if (spentWei === undefined) usage.addLive(key, limits, validUntil);
    else usage.addSpent(limits, countable(spentWei));
  }

  async take(records: readonly DecisionInputs[]): Promise<void> {
    for (const record of records) {
      const inputs = parseInputs(record.body);
      if (inputs?.kind === 'decided' && inputs.usdPerNative !== undefined)
        this.#usdPerNative.set(record.chainId, inputs.usdPerNative);
      this.#countPast();
      if (countsInUsage(inputs)) this.#tally.recorded += 1;
      if (inputs === undefined) this.#tally.leftOut('UNKNOWN_FORM');
      else if (inputs.kind === 'ending') this.#end(record, inputs);
      else if (inputs.kind === 'left-out') this.#leaveOut(record, inputs, 'TOO_LONG');
      else await this.#decide(record, inputs);
    }
  }

  /** Operations that were decided so far. */
  get replayed(): number {
    return this.#tally.replayed;
  }

  result(): Findings {
    return this.#tally.result();
  }

  async #decide(record: DecisionInputs, inputs: DecidedInputs): Promise<void> {
    const paymaster = this.#paymasters.get(record.paymasterId);
    if (paymaster === undefined) return this.#leaveOut(record, inputs, 'PAYMASTER_GONE');
    const chain = this.#chains.get(paymaster.chainId);
    if (chain === undefined) return this.#leaveOut(record, inputs, 'CHAIN_GONE');
    this.#current = { inputs, paymaster, chain, lists: this.#lists };
    const { generations, verdict } = inputs;
    const isOther =
      generations.paymaster !== paymaster.configGeneration ||
      generations.chain !== chain.config.configGeneration;
    if (isOther) this.#tally.otherConfiguration += 1;
    const replayed = await this.#verdictOf(record, inputs, this.#current);
    if (replayed === undefined) return;
    const { sender } = inputs.request.op;
    const recorded: Decided = verdict.pass ? { verdict: 'sponsored' } : { ...verdict, verdict: 'refused' };
    const example = {
      decision: record.id,
      at: record.at,
      paymasterId: record.paymasterId,
      sender,
      recorded,
      replayed,
    };
    const changed = this.#tally.decided(example, inputs.usage?.prefundWei ?? 0n);
    if (changed !== undefined)
      this.#follow(keyOf(record, inputs.entryPoint, inputs.request.op), inputs, changed);
  }

  /** Undefined: it cannot be decided. */
  async #verdictOf(
    record: DecisionInputs,
    inputs: DecidedInputs,
    { paymaster }: Current,
  ): Promise<Decided | undefined> {
    try {
      const answer = await this.#of(record.chainId).deciders(paymaster, inputs);
      return answer.pass ? { verdict: 'sponsored' } : { verdict: 'refused', ...refusalOf(answer) };
    } catch (error) {
      if (error instanceof AsRecorded) {
        this.#tally.asRecorded += 1;
        return { verdict: 'refused', reason: error.reason };
      }
      if (error instanceof NotRecorded) {
        const why = `${error.missing.toUpperCase() as Uppercase<typeof error.missing>}_NOT_RECORDED` as const;
        this.#leaveOut(record, inputs, why);
        return undefined;
      }
      if (isDomainError(error) && error.code !== 'INTERNAL')
        return { verdict: 'refused', reason: error.details.reason ?? error.code, detail: error.message };
      throw error;
    }
  }

  /** What a changed verdict means for later operations. */
  #follow(key: ReservationKey, { request }: DecidedInputs, now: Decided['verdict']): void {
    const { usage } = this.#of(key.chainId);
    if (now === 'refused') {
      if (request.phase === 'commit') usage.noteRefusedCommit(key);
      else this.#unspent.add(idOf(key));
    }
    // Nobody has recorded how it would have ended: it counts as mined, at the most that it can cost.
    else if (request.phase !== 'commit') usage.end(key, { how: 'forfeited' });
  }

  #end(record: DecisionInputs, ending: EndingInputs): void {
    const key = keyOf(record, ending.entryPoint, ending);
    const { how, actualCost } = ending;
    const isLive = this.#of(record.chainId).usage.end(key, ending);
    if (isLive || how === 'restored' || !this.#unspent.delete(idOf(key))) return;
    if (how === 'settled') this.#tally.refused.spentWei += gweiToWei(actualCost ?? gwei(0));
  }

  /** What was reserved is counted as it was, although it is not decided again. */
  #leaveOut(record: DecisionInputs, inputs: Exclude<Inputs, EndingInputs>, why: NotReplayed): void {
    this.#tally.leftOut(why);
    const { usage, verdict } = inputs;
    if (!verdict.pass || usage?.outcome !== 'reserved' || inputs.mode === 'ERC20') return;
    const operation = inputs.kind === 'decided' ? inputs.request.op : inputs;
    this.#count({
      key: keyOf(record, inputs.entryPoint, operation),
      at: usage.plannedAt,
      campaign: inputs.kind === 'decided' ? inputs.request.campaign : undefined,
      maxCostWei: usage.prefundWei,
      validUntil: usage.validUntil,
      spentWei: undefined,
    });
  }

  #of(chainId: number): OfChain {
    const known = this.#ofChains.get(chainId);
    if (known !== undefined) return known;
    const current = (): Current => {
      if (this.#current === undefined) throw new Error('no operation is being decided');
      return this.#current;
    };
    const usage = new ReplayedUsage(chainId, () => current().inputs);
    // A finalize decides again what its commit has decided.
    const wouldRefuse = (refusal: Refusal): void => {
      if (current().inputs.request.phase !== 'commit') this.#tally.wouldRefuse(refusal);
    };
    const ports = recordedPorts(current, (count) => (this.#tally.webhookAnswers += count));
    const made = { usage, deciders: createDeciders({ ...ports, usage, wouldRefuse }) };
    this.#ofChains.set(chainId, made);
    return made;
  }
}

/** Whether sums of decisions count it: a commit that passed signs nothing. */
function countsInUsage(inputs: Inputs | undefined): boolean {
  if (inputs?.kind !== 'decided') return inputs?.kind !== 'ending';
  return !(inputs.verdict.pass && inputs.request.phase === 'commit');
}

function keyOf(
  { chainId, paymasterId }: DecisionInputs,
  entryPoint: ReservationKey['entryPoint'],
  { sender, nonce }: Pick<ReservationKey, 'sender' | 'nonce'>,
): ReservationKey {
  return { chainId, paymasterId, entryPoint, sender, nonce };
}

function idOf({ chainId, paymasterId, entryPoint, sender, nonce }: ReservationKey): string {
  return `${chainId} ${paymasterId} ${entryPoint} ${sender} ${nonce}`;
}

function refusalOf({ reason, detail, policyId }: Refusal) {
  return { reason, detail, ...(policyId === undefined ? {} : { policyId }) };
}

/** Every key counts as mounted. Nothing is signed. */
const noSigner: Signer = {
  address: parseAddress(zeroAddress),
  implementation: 'none',
  sign: () => {
    throw new Error('a replay signs nothing');
  },
};
