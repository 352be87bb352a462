import type { Signing } from '../../core/paymaster/signer.js';
import type { SponsoredDeps } from '../decision/steps/sponsored.js';
import type { TokenModeDeps } from '../decision/token/in-tokens.js';
import type { TwoPhaseDeps } from '../decision/sign/two-phase.js';
import type { DecidedInputs, RecordedOutcome, RecordedVerdict } from '../decision/inputs.js';
import { isDollar } from '../../core/pricing/native-price.js';
import { priced, type PriceAnswer } from '../../core/pricing/price-source.js';
import { pass, refuse, type Verdict } from '../../core/refusal.js';
import type { HostOutcome } from '../../core/policy/policy-hosts.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import type { ServedChain } from '../view/served-chain.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';

/** What a decision asked for and nobody had recorded, because the recorded decision did not need it. */
export type Missing = 'estimate' | 'webhook' | 'price' | 'payment' | 'validation';

/** The operation cannot be decided again: the proposed configuration asks for a fact that was not recorded. */
export class NotRecorded extends Error {
  readonly missing: Missing;
  constructor(missing: Missing) {
    super(`the ${missing} was not recorded`);
    this.name = 'NotRecorded';
    this.missing = missing;
  }
}

/** The operation that is being decided. */
export type Current = {
  readonly inputs: DecidedInputs;
  readonly paymaster: ServedPaymaster;
  readonly chain: ServedChain;
  /** Addresses by the hash of their list. */
  readonly lists: ReadonlyMap<string, ReadonlySet<AddressKey>>;
};

type Ports = Omit<SponsoredDeps & TokenModeDeps & TwoPhaseDeps, 'usage' | 'records'>;

/**
 * The ports of a decision, which answer what was recorded with the current operation. Nothing is asked, simulated, called
 * or signed. A method throws {@link NotRecorded} for a fact that is missing. `onWebhooks` is called with the number of
 * recorded answers that are used.
 */
export function recordedPorts(current: () => Current, onWebhooks: (count: number) => void): Ports {
  const inputs = (): DecidedInputs => current().inputs;
  return {
    view: {
      chain: () => current().chain,
      addressList: (hash) => current().lists.get(hash),
      isStale: () => false,
      isCurrent: () => true,
      refresh: async () => current().paymaster,
    },
    clock: { now: () => inputs().now },
    heads: { get: () => inputs().head },
    dataFees: { get: () => inputs().dataReading },
    estimator: { estimate: async () => inputs().estimate ?? missing('estimate') },
    hosts: {
      call: async ({ policies }) => {
        const recorded = new Map(inputs().webhooks?.map((outcome) => [outcome.policyId, outcome]));
        const outcomes = policies.map(({ policyId }) => outcomeOf(recorded.get(policyId)));
        onWebhooks(outcomes.length);
        return outcomes;
      },
    },
    prices: {
      peek: (token) => {
        const { usdPerNative } = inputs();
        if (isDollar(token)) return usdPerNative === undefined ? undefined : recordedDollars(usdPerNative);
        const { rate } = inputs().payment?.price ?? missing('price');
        return priced({ rate, observedAt: inputs().now, source: 'recorded' });
      },
      get: async () => missing('price'),
      usdPerNative: () => undefined,
    },
    tokenAccounts: { payer: () => inputs().payment?.payer, known: () => [] },
    payments: {
      ground: async () => ({ block: 0, receivers: [] }),
      holdings: async () => {
        const takeable = inputs().payment?.takeable ?? missing('payment');
        return { balance: takeable, allowance: takeable };
      },
      // At a finalize the payment is simulated beside the account's validation, and recorded with it.
      check: async () => verdictOf(inputs().validation ?? inputs().payment?.simulated ?? missing('payment')),
    },
    accounts: { validate: async () => verdictOf(inputs().validation ?? missing('validation')) },
    signing: { sign: async () => noSignature },
  };
}

function recordedDollars(usdPerNative: bigint): PriceAnswer {
  return priced({ rate: usdPerNative, usdPerNative, observedAt: 0 as EpochMs, source: 'recorded' });
}

const noSignature: Signing = { outcome: 'signed', signature: new Uint8Array(65).fill(27) };

function missing(what: Missing): never {
  throw new NotRecorded(what);
}

function verdictOf(recorded: RecordedVerdict): Verdict {
  return recorded.pass ? pass : refuse(recorded.reason, 'as recorded');
}

/** The recorded text is in the decision's record. */
function outcomeOf(recorded: RecordedOutcome | undefined): HostOutcome {
  const { verdict } = recorded ?? missing('webhook');
  return verdict === 'verified' ? { verdict } : { verdict, detail: 'as recorded' };
}

/** The time by which the store chose the windows of an operation. */
export function plannedAt({ usage, now }: DecidedInputs): EpochMs {
  return usage?.plannedAt ?? now;
}
