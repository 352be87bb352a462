import { RpcError } from '../../adapters/chain/node-errors.js';
import { CallReverted, type Chain } from '../../core/chain/chain.js';
import { errorMessage } from '../../core/errors.js';
import { hexQuantity } from '../../core/units/hex.js';
import type { Address } from '../../core/units/address.js';
import type { Facts } from './facts.js';
import type { Step, Verb } from './steps.js';

/** What a step costs beside its value. A roll-up's fee for data comes on top. */
type Cost = {
  readonly gas: bigint;
  /** Whether the node has tried it; otherwise it cannot be tried yet, and the gas is what such a step usually takes. */
  readonly isTried: boolean;
  readonly maxFeePerGas: bigint;
  readonly tip: bigint;
};

/** The most gas that such a step took on a dev chain, in any layout, with the margin that tried steps get. */
const usualGas: Readonly<Record<Verb, bigint>> = {
  deploy: 4_100_000n,
  authorise: 60_000n,
  'remove-signer': 60_000n,
  deposit: 100_000n,
  stake: 80_000n,
  unstake: 85_000n,
  withdraw: 50_000n,
};
const usualGasOfTransfer = 40_000n;

/** A contract is given away by a step of `deploy`, too. */
const usualStepGas = ({ verb, by }: Step) =>
  verb === 'deploy' && by === 'owner' ? usualGasOfTransfer : usualGas[verb];

/** What a step costs, or why it would fail now. */
export type Priced = { readonly cost: Cost } | { readonly says: string };

export const priceSteps = (chain: Chain, steps: readonly Step[], from: Address, facts: Facts) =>
  Promise.all(steps.map((step) => priceStep(chain, step, from, facts)));

/** The first step that would succeed now; where none would, the first, so that its reason is shown. */
export async function firstPossible(
  chain: Chain,
  steps: readonly Step[],
  from: Address,
  facts: Facts,
): Promise<readonly Step[]> {
  const costs = await priceSteps(chain, steps, from, facts);
  const at = costs.findIndex((priced) => 'cost' in priced);
  return steps.slice(Math.max(at, 0), Math.max(at, 0) + 1);
}

/** Throws UNAVAILABLE. */
export async function priceStep(chain: Chain, step: Step, from: Address, facts: Facts): Promise<Priced> {
  const { tip } = facts;
  const fees = { tip, maxFeePerGas: facts.baseFeePerGas * 2n + tip };
  const isPossible = step.creates === true || (step.to !== undefined && step.data !== '0x');
  const isEarly = facts.contract === undefined && step.verb !== 'deploy';
  if (!isPossible || isEarly) return { cost: { gas: usualStepGas(step), isTried: false, ...fees } };
  try {
    const { to, data, value } = step;
    const call = { from, data, value: hexQuantity(value), ...(to === undefined ? {} : { to }) };
    const gas = BigInt(String(await chain.request('eth_estimateGas', [call])));
    // What it takes depends on the block in which it is mined.
    return { cost: { gas: (gas * 12n) / 10n, isTried: true, ...fees } };
  } catch (error) {
    // Whatever the node itself refuses: a revert, or too few funds.
    if (error instanceof CallReverted || (error instanceof Error && error.cause instanceof RpcError))
      return { says: errorMessage(error) };
    throw error;
  }
}
